"""The quick question whether a value fits its type, beside the thorough one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kapy.kube.apply.type_errors import _TWICE, _type_errors, fits
from kapy.kube.apply.types import type_of_kind, type_of_schema
from tests.kube.apply.shapes import SCHEMA, SPEC

SCALARS: list[Any] = [None, True, 1, 1.5, "a", "b", "TCP", {}, []]
NAMES = [*SPEC["properties"], "left", "right", "a", "b", "port", "protocol", "size", "unknown"]
DEPTH = 4


def value(rng: random.Random, depth: int) -> Any:
    """Any value, with names that the schema knows and others."""
    if depth and rng.random() < 0.6:
        if rng.random() < 0.4:
            return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
        return {name: value(rng, depth - 1) for name in rng.sample(NAMES, rng.randrange(4))}
    return rng.choice(SCALARS)


def misfit(node: Any, values: Any, *, repeated: bool) -> bool:
    """Whether there is a sentence about a value."""
    return any(not (repeated and _TWICE in line) for line in _type_errors(node, values, ""))


@pytest.mark.parametrize("repeated", [False, True])
def test_fitting_values_and_only_those_have_no_error(repeated: bool) -> None:
    rng, node, good = random.Random(7), type_of_schema(SPEC), 0
    properties = list(SPEC["properties"])
    for _ in range(20_000):
        results = {rng.choice(properties): value(rng, DEPTH)}
        fitting = fits(node, results, repeated=repeated)
        assert fitting is not misfit(node, results, repeated=repeated), results
        good += fitting
    assert 1_000 < good < 19_000


@pytest.mark.parametrize(
    ("spec", "repeated", "fitting"),
    [
        ({"byName": [{"name": "a"}, {"name": "a"}]}, False, False),
        ({"byName": [{"name": "a"}, {"name": "a"}]}, True, True),
        ({"byName": [{"value": "a"}]}, True, False),
        ({"tags": ["a", None]}, True, False),
        ({"words": ["a", None]}, False, True),
        ({"name": 1}, False, False),
        ({"name": None}, False, True),
        ({"other": 1}, False, False),
        ({"loose": {"other": [{}]}}, False, True),
    ],
)
def test_lists_and_unknown_fields_fit(spec: Any, repeated: bool, fitting: bool) -> None:
    document = {"apiVersion": 1, "metadata": {"labels": {"a": "b"}}, "spec": spec}
    assert fits(type_of_kind(SCHEMA), document, repeated=repeated) is fitting
