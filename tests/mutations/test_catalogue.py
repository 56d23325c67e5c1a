"""The catalogue of mutations fits the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutations.catalogue import CATALOGUE
from tests.mutations.mutation import Mutation
from tests.mutations.runner import ROOT, source_of


def _named(mutation: Mutation) -> str:
    return mutation.name


@pytest.mark.parametrize("mutation", CATALOGUE, ids=_named)
def test_a_mutation_can_be_applied(mutation: Mutation) -> None:
    source = source_of(mutation).read_text()
    assert source.count(mutation.old) == 1, "the mutated text must occur exactly once"
    ast.parse(source.replace(mutation.old, mutation.new))
    for test in mutation.tests:
        assert Path(ROOT, test.split("::")[0]).exists()


def test_names_are_unique() -> None:
    names = [mutation.name for mutation in CATALOGUE]
    assert len(names) == len(set(names))
