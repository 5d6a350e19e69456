"""Filters: one engine for triggers, conditions, reply branches and pipelines. Pure."""

from __future__ import annotations

from workflows.filters import operators
from workflows.filters.base import Negation, Operator, operator_registry
from workflows.filters.filter import Filter, evaluate, explain, operator_catalogue
from workflows.filters.folding import fold
from workflows.filters.parsing import MAX_CONDITIONS, MAX_DEPTH
from workflows.filters.refusal import ValueRefused
from workflows.filters.tree import Explanation, NotRendered
from workflows.paths import MISSING

__all__ = [
    "MAX_CONDITIONS",
    "MAX_DEPTH",
    "MISSING",
    "Explanation",
    "Filter",
    "Negation",
    "NotRendered",
    "Operator",
    "ValueRefused",
    "evaluate",
    "explain",
    "fold",
    "operator_catalogue",
    "operator_registry",
    "operators",
]
