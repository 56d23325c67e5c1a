"""The planner of rolling updates in every state that it can meet."""

from __future__ import annotations

import pytest

from tests.models.explorer import Model, explore
from tests.models.rollout import Case, model_of

CASES = [
    *(Case(desired, 1, 0) for desired in (1, 2, 3, 4)),
    *(Case(desired, 0, 1) for desired in (1, 2, 3, 4)),
    Case(2, 1, 1),
    Case(3, 2, 1),
    Case(3, "25%", "25%"),
    Case(2, "10%", "60%"),
    Case(2, 0, 0),
    Case(5, "30%", "40%"),
    Case(2, 1, 0, failures=1),
    Case(2, 0, 1, failures=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rollout_keeps_its_limits_and_ends(case: Case) -> None:
    explored = explore(model_of(case))
    assert explored.problem == ""
    assert explored.states > 5


def test_a_broken_state_is_reported_with_the_way_there() -> None:
    model = Model([0], lambda n: [("one more", n + 1)], lambda n: "three" if n == 3 else "", bool)
    problem = explore(model).problem.splitlines()
    assert problem[0] == "three"
    assert [line.split()[-1] for line in problem[1:]] == ["0", "1", "2", "3"]


def test_a_dead_end_is_reported() -> None:
    steps = {0: [("right", 1), ("wrong", 2), ("!luck", 1)], 1: [], 2: [("!luck", 1)]}
    model = Model([0], lambda n: steps[n], lambda _: "", lambda n: n == 1)
    assert explore(model).problem.startswith("the goal cannot be reached any more")
