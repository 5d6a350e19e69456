"""Operators on text, and equality and membership, which text shares with numbers and booleans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from workflows.errors import N_
from workflows.filters.base import (
    Key,
    Negation,
    Operator,
    Test,
    comparable,
    operator_registry,
    wanted_list,
    wanted_scalar,
    wanted_text,
)
from workflows.filters.folding import fold, words
from workflows.filters.patterns import compile_pattern, encodable
from workflows.filters.refusal import ValueRefused
from workflows.filters.values import Moment

_SCALARS = ("text", "number", "boolean")


@operator_registry.register("equals")
class Equals(Operator):
    """Same type and same value: text "5" is not the number 5."""

    label = N_("is equal to")
    help = N_("Text is compared without case, accents and surrounding spaces, unless exact.")
    value_shape = "scalar"
    serves = _SCALARS
    folds = True

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = wanted_scalar(value, exact)
        if isinstance(value, str):
            text = wanted[1]
            if exact:
                return lambda found, moment: isinstance(found, str) and found == text
            return lambda found, moment: isinstance(found, str) and fold(found) == text
        return lambda found, moment: comparable(found, exact) == wanted


@operator_registry.register("not_equals")
class NotEquals(Negation):
    """Negation of `equals`."""

    label = N_("is not equal to")
    help = N_("True as well when the field is missing.")
    value_shape = "scalar"
    serves = _SCALARS
    folds = True
    negates = "equals"


@operator_registry.register("in")
class In(Operator):
    """Equal to at least one value of a list."""

    label = N_("is one of")
    help = N_("The field equals at least one of the values.")
    value_shape = "list"
    serves = _SCALARS
    folds = True

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = frozenset(wanted_scalar(item, exact, (at,)) for at, item in enumerate(wanted_list(value)))
        return lambda found, moment: comparable(found, exact) in wanted


@operator_registry.register("not_in")
class NotIn(Negation):
    """Negation of `in`."""

    label = N_("is none of")
    help = N_("The field equals none of the values, or is missing.")
    value_shape = "list"
    serves = _SCALARS
    folds = True
    negates = "in"


def _contains(wanted: Key, exact: bool) -> Callable[[Any], bool]:
    """Membership on a list, substring on text."""
    piece = wanted[1] if wanted[0] == "text" else None

    def test(found: Any) -> bool:
        if isinstance(found, str):
            return piece is not None and piece in (found if exact else fold(found))
        if isinstance(found, list | tuple):
            return any(comparable(item, exact) == wanted for item in found)
        return False

    return test


def _wanted_piece(value: Any, exact: bool, loc: tuple[str | int, ...] = ()) -> Key:
    if isinstance(value, str):
        return ("text", wanted_text(value, exact, loc))
    return wanted_scalar(value, exact, loc)


@operator_registry.register("contains")
class Contains(Operator):
    """A list has the value as an item; a text has it as a part."""

    label = N_("contains")
    help = N_("On a list: one item equals the value. On text: the value is a part of it.")
    value_shape = "scalar"
    serves = ("text", "list")
    folds = True

    def prepare(self, value: Any, exact: bool) -> Test:
        holds = _contains(_wanted_piece(value, exact), exact)
        return lambda found, moment: holds(found)


@operator_registry.register("not_contains")
class NotContains(Negation):
    """Negation of `contains`."""

    label = N_("does not contain")
    help = N_("True as well when the field is missing.")
    value_shape = "scalar"
    serves = ("text", "list")
    folds = True
    negates = "contains"


class _ContainsMany(Operator):
    value_shape = "list"
    serves = ("text", "list")
    folds = True

    @abstractmethod
    def combine(self, verdicts: Iterable[bool]) -> bool:
        """Verdict over those of the single values."""

    def prepare(self, value: Any, exact: bool) -> Test:
        pieces = [
            _contains(_wanted_piece(item, exact, (at,)), exact) for at, item in enumerate(wanted_list(value))
        ]
        combine = self.combine
        return lambda found, moment: combine(holds(found) for holds in pieces)


@operator_registry.register("contains_any")
class ContainsAny(_ContainsMany):
    """`contains` holds for at least one value."""

    label = N_("contains any of")
    help = N_("At least one of the values is an item of the list or a part of the text.")

    def combine(self, verdicts: Iterable[bool]) -> bool:
        """One is enough."""
        return any(verdicts)


@operator_registry.register("contains_all")
class ContainsAll(_ContainsMany):
    """`contains` holds for every value."""

    label = N_("contains all of")
    help = N_("Every value is an item of the list or a part of the text.")

    def combine(self, verdicts: Iterable[bool]) -> bool:
        """All must hold."""
        return all(verdicts)


class _HasWords(Operator):
    value_shape = "words"
    serves = ("text",)
    folds = True

    def wanted(self, value: Any, exact: bool) -> frozenset[str]:
        """The single words of the list."""
        found = []
        for at, item in enumerate(wanted_list(value)):
            word = wanted_text(item, exact, (at,))
            if words(word, exact) != [word]:
                raise ValueRefused(
                    "not_one_word", N_("Each value must be one word, made of letters only."), (at,)
                )
            found.append(word)
        return frozenset(found)


@operator_registry.register("has_any_word")
class HasAnyWord(_HasWords):
    """At least one of the words stands in the text as a whole word."""

    label = N_("has any of the words")
    help = N_("Whole words: the text “aprecio” has not the word “precio”.")

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = self.wanted(value, exact)
        return lambda found, moment: isinstance(found, str) and not wanted.isdisjoint(words(found, exact))


@operator_registry.register("has_all_words")
class HasAllWords(_HasWords):
    """Every word stands in the text as a whole word, in any order."""

    label = N_("has all the words")
    help = N_("Whole words, in any order.")

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = self.wanted(value, exact)
        return lambda found, moment: isinstance(found, str) and wanted.issubset(words(found, exact))


@operator_registry.register("has_phrase")
class HasPhrase(Operator):
    """The words of the phrase stand in the text one after another, whatever separates them."""

    label = N_("has the phrase")
    help = N_("Whole words, one after another; signs and digits between them do not count.")
    value_shape = "phrase"
    serves = ("text",)
    folds = True

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = words(wanted_text(value, exact), exact)
        if not wanted:
            raise ValueRefused("value_blank", N_("The phrase must have at least one word."))
        phrase = f" {' '.join(wanted)} "
        return lambda found, moment: isinstance(found, str) and phrase in f" {' '.join(words(found, exact))} "


class _Edge(Operator):
    value_shape = "text"
    serves = ("text",)
    folds = True

    @abstractmethod
    def at_edge(self, text: str, wanted: str) -> bool:
        """Whether the wanted text stands at this operator's end."""

    def prepare(self, value: Any, exact: bool) -> Test:
        wanted = wanted_text(value, exact)
        at_edge = self.at_edge
        return lambda found, moment: (
            isinstance(found, str) and at_edge(found if exact else fold(found), wanted)
        )


@operator_registry.register("starts_with")
class StartsWith(_Edge):
    """The text begins with the value."""

    label = N_("starts with")
    help = N_("Text is compared without case, accents and surrounding spaces, unless exact.")

    def at_edge(self, text: str, wanted: str) -> bool:
        """At the beginning."""
        return text.startswith(wanted)


@operator_registry.register("ends_with")
class EndsWith(_Edge):
    """The text ends with the value."""

    label = N_("ends with")
    help = N_("Text is compared without case, accents and surrounding spaces, unless exact.")

    def at_edge(self, text: str, wanted: str) -> bool:
        """At the end."""
        return text.endswith(wanted)


@operator_registry.register("matches")
class Matches(Operator):
    """An RE2 pattern is found somewhere in the text as it stands."""

    label = N_("matches the pattern")
    help = N_("A regular expression (RE2), searched in the text as it stands; (?i) ignores case.")
    value_shape = "pattern"
    serves = ("text",)

    def prepare(self, value: Any, exact: bool) -> Test:
        pattern = compile_pattern(value)

        def test(found: Any, moment: Moment) -> bool:
            return isinstance(found, str) and pattern.search(encodable(found)) is not None

        return test
