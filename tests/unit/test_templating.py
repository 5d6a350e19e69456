"""Templates: values and types, missing ones, escaping, and bounds that hold against hostile ones."""

from __future__ import annotations

from typing import Any

import pytest

from workflows.templating import (
    MAX_OUTPUT,
    TemplateProblem,
    TemplateSyntaxProblem,
    check_template,
    has_template,
    parse,
    stringify,
)
from workflows.templating.rendering import MAX_WORK, Context

DATA: dict[str, Any] = {
    "contact": {
        "name": "Ana",
        "age": 3,
        "ok": True,
        "off": False,
        "none": None,
        "tags": ["a", "ñ"],
        "blank": "",
    },
    "step": {"stepA": {"path": [{"to": [1, {"b": 2}]}], "0": "zero"}},
    "workflow_input": {"f": 2.5},
    "loop_item": {"f": {"size": "L"}},
    "entity": {"timezone": "America/Guatemala", "now": "2026-01-05T12:00:00-06:00"},
    "replies": [{"text": "uno"}, {"text": "dos"}],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hola {{ contact.name | default: 'qué tal' }}", "Hola Ana"),
        ("Hola {{ contact.surname | default: 'qué tal' }}", "Hola qué tal"),
        ("{{ contact.none | default: 'nada' }}", "nada"),
        ("{{ contact.none.deeper | upcase | default: 'nada' }}", "nada"),
        ("{{workflow_input.f}}", 2.5),
        ("{{step.stepA.path.0.to}}", [1, {"b": 2}]),
        ("{{ step.stepA.path[0]['to'][1].b }}", 2),
        ("{{ step.stepA.0 }}", "zero"),
        ("{{loop_item.f}}", {"size": "L"}),
        ("{{ context.contact.age }}", 3),
        ("{{ contact.off }}", False),
        ("{{ contact.age }}!", "3!"),
        ("{{ contact.age | plus: 1 }}", "4"),
        ("{{ contact.ok }} {{ contact.off }}", "true false"),
        ("{{ step.stepA.path }}.", '[{"to": [1, {"b": 2}]}].'),
        ("{{ contact.tags }} {{ loop_item.f }}", '["a", "ñ"] {"size": "L"}'),
        ("{{ contact.tags | append: contact.ok }}", '["a", "ñ"]true'),
        ("{{ contact.tags | join: ', ' }}", "a, ñ"),
        ("{{ replies | map: 'text' | join: '/' }}", "uno/dos"),
        ("{{ contact.tags.size }}{{ contact.tags.first }}{{ contact.tags.last }}", "2añ"),
        ("{{ contact.name.size }}{{ contact.name.first }}{{ contact.name.last }}", "3Aa"),
        ("{{ loop_item.f.size }}", "L"),
        ("{{ contact.tags | size }}{{ contact.name | last }}", "2a"),
        ("{% for reply in replies %}{{ forloop.index }}{{ reply.text }} {% endfor %}", "1uno 2dos "),
        ("{{ entity.now | date: '%d/%m/%Y %H:%M' }}", "05/01/2026 12:00"),
        ("{{ '2026-01-06T03:00:00Z' | date: '%d %H' }}", "05 21"),
        ("{{ 2.345 | round: 2 }}", "2.35"),
        ("{{ '<b>x</b>' | strip_html }}", "x"),
        ("{{ 'b,A,c' | split: ',' | sort_natural | join }}", "A b c"),
        ("{% raw %}{{ contact.name }}{% endraw %}", "{{ contact.name }}"),
        ("no marks", "no marks"),
    ],
)
def test_renders(text: str, expected: Any) -> None:
    found = parse(text).render(DATA)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("root", ["nope", "contact.none", "contact.nope", "contact.none.x", "contact.tags.9"])
def test_missing_and_null_are_nil_to_tags_and_comparisons(root: str) -> None:
    text = (
        "{% if ROOT %}x{% else %}if {% endif %}{% unless ROOT %}unless {% endunless %}"
        "{% if ROOT == nil %}eq {% endif %}{% if ROOT != 'a' %}ne {% endif %}"
        "{% if ROOT > 1 or ROOT < 1 or ROOT contains 'a' %}x{% endif %}"
        "{% case ROOT %}{% when 'a' %}x{% when nil %}case {% endcase %}"
        "{% for a in ROOT %}x{% else %}for{% endfor %}"
    )
    assert parse(text.replace("ROOT", root)).render(DATA) == "if unless eq ne case for"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{{ contact.surname }}", "contact.surname"),
        ("{{ contact.none }}", "contact.none"),
        ("Hola {{ contact.none }}", "contact.none"),
        ("Hola {{ contact.none.a.0 | upcase }}", "contact.none.a.0"),
        ("{{ contact.age | plus: contact.none }}", "contact.none"),
        ("{{ contact.none | default: nope }}", "nope"),
        ("{% assign x = contact.none %}{{ x }}", "x"),
        ("{% echo nope %}", "nope"),
        ("{{ nil }}", "nil"),
        ("{{ loop_item.f.first }}", "loop_item.f.first"),
        ("{{ contact.size }}", "contact.size"),
        ("{{ contact.age.size }}", "contact.age.size"),
        ("{{ contact.name.0 }}", "contact.name.0"),
        ("{{ now }}", "now"),
        ("{{ contact.name.upper }}", "contact.name.upper"),
        ("{{ contact.__class__ }}", "contact.__class__"),
        ("{{ contact.tags.__len__ }}", "contact.tags.__len__"),
    ],
)
def test_printing_nothing_fails_and_names_the_path(text: str, path: str) -> None:
    with pytest.raises(TemplateProblem) as caught:
        parse(text).render(DATA)
    assert (caught.value.code, caught.value.path) == ("template_error", path)
    assert caught.value.message == f"{path} has no value and the template gives no default."


@pytest.mark.parametrize(
    "text",
    [
        "{{ loop_item.f | size }}",
        "{{ 'now' | date: '%Y' }}",
        "{{ 'x' | date: '%99999999d' }}",
        "{{ 1 | divided_by: 0 }}",
    ],
)
def test_a_filter_that_fails(text: str) -> None:
    with pytest.raises(TemplateProblem) as caught:
        parse(text).render(DATA)
    assert (caught.value.code, caught.value.path) == ("template_error", None)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{{ a", 1, 1),
        ("ok\n  {% if a %}{{ b ", 2, 13),
        ("{{ a | nope }}", 1, 8),
        ("{% include 'a' %}", 1, 4),
        ("{% render 'a' %}", 1, 4),
        ("{% extends 'a' %}", 1, 4),
        ("{% tablerow a in b %}{% endtablerow %}", 1, 4),
        ("{{ a | safe }}", 1, 8),
        ("{% if %}", 1, 4),
        ("{% endfor %}", 1, 4),
    ],
)
def test_syntax_problems_say_where(text: str, line: int, column: int) -> None:
    with pytest.raises(TemplateSyntaxProblem) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert check_template(text) == caught.value.detail
    assert f"(line {line}, column {column})" in caught.value.detail


def test_has_template_and_check_template() -> None:
    assert [has_template(text) for text in ("{{ a }}", "x{% if a %}", "100 %} {", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert check_template("{{ a.b.0.c | default: 'x' }}") is None


def test_a_rendered_text_is_not_rendered_again() -> None:
    data = {"reply": {"text": "{{ secret }}{% for %}"}, "secret": "s"}
    assert parse("{{ reply.text }}").render(data) == "{{ secret }}{% for %}"
    assert parse("> {{ reply.text }}").render(data) == "> {{ secret }}{% for %}"


@pytest.mark.parametrize(
    ("destination", "text", "expected"),
    [
        ("text", "{{ t }}", '<b>"\n'),
        ("html", "{{ t }}", "&lt;b&gt;&#34;\n"),
        ("html", "<i>{{ t | newline_to_br }}</i>", "<i>&lt;b&gt;&#34;<br />\n</i>"),
        ("html", "{{ t | escape }}", "&lt;b&gt;&#34;\n"),
        ("html", "{% capture c %}{{ t }}{% endcapture %}{{ c }}", "&lt;b&gt;&#34;\n"),
        ("html", "{{ l | join: '<br>' }}", "&lt;<br>&amp;"),
        ("html", "{{ l }}", "[&#34;&lt;&#34;, &#34;&amp;&#34;]"),
        ("html", "{{ n }}", "3"),
        ("json", '{"a": "{{ t }}"}', '{"a": "<b>\\"\\n"}'),
        ("json", '{"a": {{ l }}, "b": {{ n }}}', '{"a": ["<", "&"], "b": 3}'),
        ("json", '{% capture c %}{{ t }}{% endcapture %}"{{ c }}"', '"<b>\\"\\n"'),
    ],
)
def test_escaping_is_by_destination(destination: Any, text: str, expected: str) -> None:
    assert parse(text, destination).render({"t": '<b>"\n', "l": ["<", "&"], "n": 3}) == expected


def test_paths_are_those_of_the_data() -> None:
    template = parse(
        "{{ contact.name }}{% for x in step.a.items %}{{ x.y }}{{ context.q.0 }}{{ b[c.d] }}{% endfor %}"
    )
    assert set(template.paths) == {("contact", "name"), ("step", "a", "items"), ("q", 0), ("c", "d")}


def test_templates_are_parsed_once() -> None:
    assert parse("{{ once }}") is parse("{{ once }}")
    assert parse("{{ once }}") is not parse("{{ once }}", "html")


LARGE = {"text": "x" * 100_000}
GROW = "{% assign a = 'xxxxxxxxxx' %}{% for i in (1..1000) %}"
HOSTILE = [
    "{% for i in (1..100000000000) %}{% endfor %}",
    "{% for i in (1..100000000000) reversed %}{% endfor %}",
    "{% for i in (1..9999) %}{% for j in (1..9999) %}{% endfor %}{% endfor %}",
    "{% for i in (1..9999) %}{% if 1 == 1 %}{% endif %}{% endfor %}" * 150,
    "{% for i in (1..9999) %}" + "{% if 1 %}{% endif %}" * 300 + "{% endfor %}",
    GROW + "{% assign a = a | append: a %}{% endfor %}",
    GROW + "{% assign a = a | replace: 'x', 'xxxxxxxx' %}{% endfor %}",
    GROW + "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}",
    "{% assign a = 10 %}{% for i in (1..1000) %}{% assign a = a | times: a %}{% endfor %}{{ a }}",
    "{% assign a = 1.5 %}{% for i in (1..1000) %}{% assign a = a | times: a %}{% endfor %}{{ a }}",
    "{{ large.text | replace: '', large.text }}",
    "{{ large.text | split: '' | join: large.text }}",
    "{{ large.text | split: '' }}",
    "{% for i in (1..9999) %}{{ large.text }}{% endfor %}",
    "{% for i in (1..9999) %}{% assign a = large.text | upcase %}{% endfor %}",
    "{% for i in (1..9999) %}{% capture a %}{{ large.text }}{% endcapture %}{% endfor %}",
    "{% assign e = '' | split: ',' %}{% assign a = large | concat: e %}"
    "{% for i in (1..14) %}{% assign a = a | concat: a %}{% endfor %}",
    "{% assign e = '' | split: ',' %}{% assign a = large | concat: e %}"
    "{% for i in (1..12) %}{% assign a = a | concat: a %}{% endfor %}{{ a }} ",
    "{% assign e = '' | split: ',' %}{% assign a = large | concat: e %}"
    "{% for i in (1..12) %}{% assign a = a | concat: a %}{% endfor %}{{ a | uniq }} ",
    "{% assign e = '' | split: ',' %}{% assign a = large | concat: e %}"
    "{% for i in (1..12) %}{% assign a = a | concat: a %}{% endfor %}{{ a | sort_natural }} ",
    "{% assign e = '' | split: ',' %}{% assign a = large | concat: e %}"
    "{% for i in (1..12) %}{% assign a = a | concat: a %}{% endfor %}{{ a | join }} ",
    "".join(f"{{% assign a{at} = large.text | upcase %}}" for at in range(12)),
    "{{ (1..100000000) | join: ',' }}",
    "{{ 5 | round: -99999999999 }}",
    "{{ 5 | round: 99999999999 }}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_templates_end_in_an_error_within_their_work(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = []
    charge = Context.charge

    def counted(self: Context, units: int) -> None:
        spent.append(units)
        charge(self, units)

    monkeypatch.setattr(Context, "charge", counted)
    with pytest.raises(TemplateProblem) as caught:
        parse(text).render({"large": LARGE})
    assert caught.value.code == "template_error"
    assert sum(spent[:-1]) <= MAX_WORK


@pytest.mark.parametrize(
    "text",
    [
        "{{" + " " * 30_000,
        "{%" * 15_000,
        "{{" * 15_000 + "}}",
        ("{{" + " " * 1_900 + "}}") * 16,
        "{% raw %}" * 3_000,
        "{% if a %}" * 900,
        "{% if a %}" * 30 + "{% endif %}" * 30,
        "{% if " + "a and " * 5_000 + "a %}{% endif %}",
        "{{ " + "a[" * 900 + "b" + "]" * 900 + " }}",
        "x" * 32_769,
    ],
)
def test_hostile_texts_are_refused_when_parsed(text: str) -> None:
    with pytest.raises(TemplateSyntaxProblem):
        parse(text)


def test_a_value_too_long_to_print_is_counted_before_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.dumps", lambda *args, **named: pytest.fail("printed"))
    for value in ([LARGE] * 4096, {"x" * MAX_OUTPUT: 1}, [0] * (MAX_OUTPUT + 1)):
        with pytest.raises(TemplateProblem):
            stringify.to_text(value)


def test_the_output_is_limited() -> None:
    data = {"a": "x" * (MAX_OUTPUT // 2)}
    assert len(parse("{{ a }}{{ a }}").render(data)) == MAX_OUTPUT
    with pytest.raises(TemplateProblem):
        parse("{{ a }}{{ a }}.").render(data)
