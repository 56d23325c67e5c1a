"""kapy's control plane with etcd in every state that it can meet."""

from __future__ import annotations

import os

import pytest

from tests.models.control_plane import Case, model_of
from tests.models.explorer import explore

SMALL = [
    Case(1, 3),
    Case(3, 5),
    Case(5, 1),
    Case(1, 1, outdated=True),
    Case(3, 3, outdated=True),
    Case(5, 5, outdated=True),
    Case(1, 3, failures=1),
    Case(3, 1, failures=1),
    Case(3, 3, failures=1),
    Case(1, 3, deletions=1),
    Case(3, 3, deletions=3),
    Case(3, 3, failures=1, deletions=1),
]
LARGE = [
    Case(5, 3, failures=1),
    Case(5, 3, failures=2),
    Case(5, 5, failures=2),
    Case(5, 5, deletions=2),
    Case(3, 1, failures=1, deletions=1),
    Case(1, 3, failures=1, deletions=1),
    Case(3, 3, failures=1, deletions=2),
    Case(3, 3, outdated=True, failures=1),
    Case(3, 3, outdated=True, failures=1, deletions=1),
]
CASES = [*SMALL, *(LARGE if os.environ.get("KAPY_EXHAUSTIVE") else ())]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_control_plane_keeps_its_quorum_and_gets_there(case: Case) -> None:
    explored = explore(model_of(case), limit=100_000)
    assert explored.problem == ""
    assert explored.states > 5
