"""Filters: the truth table, what is refused and where, templates, explanations."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.unit.filters_table import (
    ABSENT,
    CASES,
    EXACT,
    FOUND,
    NOW,
    REFUSED,
    TABLE,
    ZONE,
)
from workflows.filters import (
    MISSING,
    Filter,
    Negation,
    NotRendered,
    evaluate,
    explain,
    operator_catalogue,
    operator_registry,
)


class Config(BaseModel):
    when: Filter


def condition(operator: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"field": "x", "operator": operator, **({} if value is ABSENT else {"value": value}), **more}


def verdict(raw: Any, found: Any) -> bool:
    data = {} if found is ABSENT else {"x": found}
    return evaluate(Filter.parse(raw), data, now=NOW, zone=ZONE)


def errors(raw: Any, **context: Any) -> list[tuple[str, tuple[str | int, ...]]]:
    with pytest.raises(ValidationError) as caught:
        Config.model_validate({"when": raw}, context=context)
    return [(error["type"], error["loc"]) for error in caught.value.errors()]


CELLS = [
    pytest.param(
        operator, value, found, row[at] == "T", id=f"{operator}-{value!r}-{name}".replace(str(ABSENT), "none")
    )
    for operator, value, row in TABLE
    for at, (name, found) in enumerate(FOUND.items())
]


@pytest.mark.parametrize(("operator", "value", "found", "expected"), CELLS)
def test_truth_table(operator: str, value: Any, found: Any, expected: bool) -> None:
    assert verdict(condition(operator, value), found) is expected


def test_the_table_has_every_operator_and_every_cell() -> None:
    assert {operator for operator, _, _ in TABLE} == set(operator_registry)
    assert all(len(row) == len(FOUND) for _, _, row in TABLE)


@pytest.mark.parametrize(("operator", "value", "found", "expected"), CASES)
def test_particular_cases(operator: str, value: Any, found: Any, expected: bool) -> None:
    assert verdict(condition(operator, value), found) is expected


@pytest.mark.parametrize(("operator", "value", "found", "expected"), EXACT)
def test_exact(operator: str, value: Any, found: Any, expected: bool) -> None:
    assert verdict(condition(operator, value, exact=True), found) is expected


@pytest.mark.parametrize(("operator", "value", "code", "place"), REFUSED)
def test_values_are_refused_on_save(operator: str, value: Any, code: str, place: tuple[int, ...]) -> None:
    assert errors({"any": [condition(operator, value)]}) == [(code, ("when", "any", 0, "value", *place))]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NEGATIONS = sorted(kind for kind, each in operator_registry.items() if isinstance(each, Negation))
WANTED = {"equals": st.text(min_size=1), "contains": st.integers(), "in": st.lists(st.booleans(), min_size=1)}


@given(data=st.data(), found=JSON | st.just(ABSENT))
def test_a_negative_is_the_exact_negation_of_its_positive(data: st.DataObject, found: Any) -> None:
    negative = data.draw(st.sampled_from(NEGATIONS))
    positive = operator_registry[negative].negates
    assert positive is not None
    value = data.draw(WANTED[positive]) if positive in WANTED else ABSENT
    assert verdict(condition(negative, value), found) is not verdict(condition(positive, value), found)


@given(found=JSON | st.just(ABSENT))
def test_no_value_makes_an_operator_fail(found: Any) -> None:
    for operator, value, _ in TABLE:
        assert verdict(condition(operator, value), found) in (True, False)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a.b.0.c", "deep"),
        ("context.a.b.0.c", "deep"),
        ("a.b.1.c", MISSING),
        ("a.b.-1.c", MISSING),
        ("a.b.c", MISSING),
        ("a.s.0", MISSING),
        ("a.n", None),
        ("a.n.x", MISSING),
        ("a.7", "seven"),
        ("context", MISSING),
    ],
)
def test_paths(field: str, expected: Any) -> None:
    data = {"a": {"b": [{"c": "deep"}], "s": "text", "n": None, "7": "seven"}}
    found = explain(Filter.parse({"field": field, "operator": "exists"}), data, now=NOW, zone=ZONE)
    assert (found.seen, found.verdict) == (expected, expected is not MISSING)


@pytest.mark.parametrize(
    "field", ["", "a.", ".a", "a..b", "a.*", "a[0]", "{{ a }}", "a. b", 5, None, "x" * 201]
)
def test_wrong_paths_are_refused(field: Any) -> None:
    assert errors({"field": field, "operator": "exists"}) == [("field_path", ("when", "field"))]


def test_every_mistake_is_listed_at_its_place_in_document_order() -> None:
    raw = {
        "all": [
            condition("equals", 1, extra=2),
            {"any": []},
            {"not": {"operator": "nope"}},
            {"any": [5], "all": [condition("exists", ABSENT)]},
            condition("equals", 1, exact="yes"),
            condition("greater_than", 1, exact=True),
            {"field": "x"},
            {"any": {"field": "x"}},
        ]
    }
    at = ("when", "all")
    assert errors(raw) == [
        ("extra_forbidden", (*at, 0, "extra")),
        ("group_empty", (*at, 1, "any")),
        ("missing", (*at, 2, "not", "field")),
        ("unknown_operator", (*at, 2, "not", "operator")),
        ("extra_forbidden", (*at, 3, "all")),
        ("filter_shape", (*at, 3, "any", 0)),
        ("bool_type", (*at, 4, "exact")),
        ("exact_not_supported", (*at, 5, "exact")),
        ("missing", (*at, 6, "operator")),
        ("list_type", (*at, 7, "any")),
    ]


def test_groups() -> None:
    true, false = condition("exists", ABSENT), condition("not_exists", ABSENT)
    assert verdict({"all": [true, true]}, 1) is True
    assert verdict({"all": [true, false]}, 1) is False
    assert verdict({"any": [false, true]}, 1) is True
    assert verdict({"any": [false, false]}, 1) is False
    assert verdict({"not": {"any": [false, false]}}, 1) is True


def test_depth_is_limited() -> None:
    def nested(depth: int) -> Any:
        raw: Any = condition("exists", ABSENT)
        for _ in range(depth):
            raw = {"not": raw}
        return raw

    assert verdict(nested(8), 1) is True
    assert errors(nested(9)) == [("filter_depth", ("when", *["not"] * 8))]
    assert [code for code, _ in errors(nested(5000))] == ["filter_depth"]


def test_size_is_limited() -> None:
    assert verdict({"all": [condition("exists", ABSENT)] * 100}, 1) is True
    assert errors({"all": [condition("exists", ABSENT)] * 101}) == [("filter_size", ("when",))]
    assert len(errors({"all": [{}] * 100_000})) <= 203


def test_templates_only_where_they_are_allowed() -> None:
    raw = {"all": [condition("in", ["a", "{{ reply.text }}"]), condition("is_empty", "{{ a }}")]}
    assert errors(raw) == [
        ("template_not_allowed", ("when", "all", 0, "value")),
        ("value_not_allowed", ("when", "all", 1, "value")),
    ]
    assert errors(raw, templates=True) == [("value_not_allowed", ("when", "all", 1, "value"))]
    checked = errors({"all": raw["all"][:1]}, templates=True, check_template=lambda text: f"no {text}")
    assert checked == [("template_syntax", ("when", "all", 0, "value", 1))]


def test_a_rendered_filter_is_checked_and_its_text_is_never_rendered_again() -> None:
    raw = {"not": {"any": [condition("between", [1, "{{ limit }}"]), condition("equals", "b")]}}
    filter_ = Filter.parse(raw, templates=True)
    assert list(filter_.templates()) == [(("not", "any", 0, "value", 1), "{{ limit }}")]
    assert list(filter_.fields()) == [(("not", "any", 0, "field"), "x"), (("not", "any", 1, "field"), "x")]
    with pytest.raises(NotRendered):
        evaluate(filter_, {"x": 1}, now=NOW, zone=ZONE)

    rendered = filter_.render(lambda text: 7)
    assert evaluate(rendered, {"x": 6}, now=NOW, zone=ZONE) is False
    assert evaluate(rendered, {"x": 8}, now=NOW, zone=ZONE) is True
    assert filter_.raw == raw

    with pytest.raises(ValidationError) as caught:
        filter_.render(lambda text: "{{ limit }}")
    assert [(e["type"], e["loc"]) for e in caught.value.errors()] == [
        ("value_type", ("not", "any", 0, "value", 1))
    ]

    braces = Filter.parse(condition("equals", "{{ reply.text }}"), templates=True).render(
        lambda text: "{{ x }}"
    )
    assert list(braces.templates()) == []
    assert evaluate(braces, {"x": "{{ X }}"}, now=NOW, zone=ZONE) is True


def test_a_filter_without_templates_renders_to_itself() -> None:
    filter_ = Filter.parse(condition("equals", "a"), templates=True)
    assert filter_.render(lambda text: pytest.fail(text)) is filter_


def test_export_is_what_was_imported() -> None:
    raw = {
        "all": [
            condition("equals", "{{ a }}"),
            condition("is_empty", ABSENT),
            condition("in", [1], exact=False),
        ]
    }
    config = Config.model_validate({"when": raw}, context={"templates": True})
    assert config.model_dump(mode="json") == {"when": raw}
    assert Config.model_validate(config) == config
    assert Config.model_json_schema()["properties"]["when"]["format"] == "filter"


def test_explain_shows_value_missing_and_verdict_of_every_condition() -> None:
    raw = {"any": [condition("equals", "Sí"), {"not": {"field": "y.z", "operator": "is_empty"}}]}
    found = explain(Filter.parse(raw), {"x": "SI"}, now=NOW, zone=ZONE)
    assert found.to_dict() == {
        "kind": "any",
        "verdict": True,
        "parts": [
            {
                "kind": "condition",
                "verdict": True,
                "field": "x",
                "operator": "equals",
                "missing": False,
                "value": "Sí",
                "seen": "SI",
            },
            {
                "kind": "not",
                "verdict": False,
                "parts": [
                    {
                        "kind": "condition",
                        "verdict": True,
                        "field": "y.z",
                        "operator": "is_empty",
                        "missing": True,
                    }
                ],
            },
        ],
    }


@given(found=JSON | st.just(ABSENT), at=st.sampled_from(TABLE), other=st.sampled_from(TABLE))
def test_explain_and_evaluate_agree(found: Any, at: Any, other: Any) -> None:
    raw = {"any": [condition(*at[:2]), {"not": {"all": [condition(*other[:2]), condition(*at[:2])]}}]}
    data = {} if found is ABSENT else {"x": found}
    filter_ = Filter.parse(raw)
    assert explain(filter_, data, now=NOW, zone=ZONE).verdict is evaluate(filter_, data, now=NOW, zone=ZONE)


def test_the_catalogue_describes_every_operator() -> None:
    catalogue = {entry["operator"]: entry for entry in operator_catalogue()}
    assert set(catalogue) == set(operator_registry)
    assert all(entry["label"] and entry["help"] and entry["types"] for entry in catalogue.values())
    assert catalogue["not_in"]["negates"] == "in"
    assert catalogue["time_between"]["value"] == "times"


def test_filters_need_no_django() -> None:
    script = "import sys, workflows.filters; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0
