"""Upgrade plans that are made always lead there, and workers are never too far behind."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.version import parse_tolerant
from kapy.topology.upgrade_plan import WORKERS_BEHIND, check_plans, class_versions_plan

minors = st.integers(25, 40)


@given(minors, st.integers(0, 9), st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_plan_of_a_class_takes_one_step_for_each_minor_version(
    start: int, steps: int, patches: list[int]
) -> None:
    versions = [
        f"v1.{minor}.{patch}"
        for minor in range(start, start + steps + 1)
        for patch in range(patches[minor - start] + 1)
    ]
    current, desired = versions[0], versions[-1]
    plan = class_versions_plan(versions, desired, current)
    if desired != current:
        assert plan[-1] == desired
        assert [parse_tolerant(text).minor for text in plan[-steps:] if steps] == list(
            range(start + 1, start + steps + 1)
        )
    workers = check_plans(desired, current, current, plan, [])
    went = [parse_tolerant(worker).minor for worker in (current, *workers)]
    assert all(0 <= b - a <= WORKERS_BEHIND for a, b in pairwise(went))
    assert not workers or workers[-1] == desired
