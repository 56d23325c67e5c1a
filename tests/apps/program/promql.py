"""The metrics that an expression of PromQL selects, and the labels of its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import promql_parser as promql

TARGET: Final = frozenset({"job", "instance"})
"""Labels that Prometheus adds to each sample that it scrapes."""
COUNTING: Final = ("rate", "irate", "increase")
RENAMED: Final = ("label_replace", "label_join", "count_values")
"""Functions that set labels of their own; none of our expressions calls them."""


def labels_of(expression: promql.Expr, families: Mapping[str, set[str]]) -> set[str] | None:
    """The labels of the answer, None for a number.

    families: the labels by metric. It asserts that each metric and label is known, that counters
    (and they only) are made rates of, and that operands have the same labels.
    """
    match expression:
        case promql.NumberLiteral() | promql.StringLiteral():
            return None
        case promql.VectorSelector():
            return _selected(expression, families)
        case promql.MatrixSelector():
            return _selected(expression.vector_selector, families)
        case promql.ParenExpr() | promql.UnaryExpr():
            return labels_of(expression.expr, families)
        case promql.AggregateExpr():
            return _aggregated(expression, families)
        case promql.BinaryExpr():
            left, right = (
                labels_of(operand, families) for operand in (expression.lhs, expression.rhs)
            )
            assert expression.modifier is None or expression.modifier.matching is None, expression
            assert left is None or right is None or left == right, f"never match: {left}, {right}"
            return right if left is None else left
        case promql.Call():
            return _called(expression, families)
    raise AssertionError(f"not known: {expression}")


def _selected(selector: promql.VectorSelector, families: Mapping[str, set[str]]) -> set[str]:
    name = selector.name
    assert name is not None
    assert name in families, f"no program exports {name}"
    labels = families[name] | TARGET
    for matcher in selector.matchers.matchers:
        assert matcher.name in labels, f"{name} has no label {matcher.name}"
    return labels


def _aggregated(expression: promql.AggregateExpr, families: Mapping[str, set[str]]) -> set[str]:
    labels = labels_of(expression.expr, families)
    assert labels is not None
    if expression.modifier is None:
        return set()
    labels_kept = set(expression.modifier.labels)
    assert labels_kept <= labels, f"{labels_kept - labels} are no labels of {expression.expr}"
    assert expression.modifier.type == promql.AggModifierType.By
    return labels_kept


def _called(expression: promql.Call, families: Mapping[str, set[str]]) -> set[str] | None:
    name = expression.func.name
    assert name not in RENAMED
    parts = [labels_of(argument, families) for argument in expression.args]
    labels = next((part for part in parts if part is not None), None)
    if name == "histogram_quantile":
        assert labels is not None
        assert "le" in labels, f"the buckets are gone: {expression}"
        return labels - {"le"}
    if name in COUNTING:
        (range_,) = expression.args
        assert isinstance(range_, promql.MatrixSelector), f"not known: {expression}"
        counted = str(range_.vector_selector.name).endswith(("_total", "_bucket", "_count", "_sum"))
        assert counted, f"{range_.vector_selector.name} is no counter"
    return labels
