"""Scaling a MachineDeployment whose rollout is paused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.core.machinedeployment.rollout import fenceposts
from kapy.core.machinedeployment.strategies import proportional_scale
from kapy.kube import Document
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value
from kapy.kube.meta import read

TEMPLATE: Document = {
    "spec": {
        "clusterName": "c",
        "bootstrap": {},
        "infrastructureRef": {"apiGroup": "x.example.com", "kind": "T", "name": "t"},
    }
}


def deployment(replicas: int, surge: int = 1) -> MachineDeployment:
    update = {"maxSurge": surge, "maxUnavailable": 0}
    rollout = {"strategy": {"type": "RollingUpdate", "rollingUpdate": update}}
    spec = {
        "clusterName": "c",
        "selector": {},
        "template": TEMPLATE,
        "replicas": replicas,
        "rollout": rollout,
    }
    return read({"metadata": {"name": "md"}, "spec": spec}, MachineDeployment)


def machine_set(name: str, replicas: int, whole: int = 11) -> MachineSet:
    annotations = {Annotation.MAX_REPLICAS: str(whole), Annotation.DESIRED_REPLICAS: str(whole - 1)}
    spec = {"clusterName": "c", "selector": {}, "template": TEMPLATE, "replicas": replicas}
    metadata = {
        "name": name,
        "annotations": annotations,
        "creationTimestamp": f"2026-01-0{name[-1]}T00:00:00Z",
    }
    status = {"availableReplicas": replicas}
    return read({"metadata": metadata, "spec": spec, "status": status}, MachineSet)


@pytest.mark.parametrize(
    ("replicas", "new", "old", "expected"),
    [
        (5, 3, [], {"ms9": 5}),
        (5, 0, [3], {"ms1": 5}),
        (5, 0, [0], {"ms9": 5}),
        (10, 10, [4], {"ms1": 0}),
        (20, 5, [5], {"ms1": 10, "ms9": 11}),
        (5, 5, [5], {"ms1": 3, "ms9": 3}),
        (0, 5, [5], {"ms1": 0, "ms9": 0}),
        (10, 6, [5], {}),
    ],
)
def test_replicas_are_scaled_in_proportion(
    replicas: int, new: int, old: list[int], expected: dict[str, int]
) -> None:
    olds = [machine_set(f"ms{number}", size) for number, size in enumerate(old, 1)]
    assert proportional_scale(deployment(replicas), machine_set("ms9", new), olds) == expected


@given(st.integers(1, 30), st.lists(st.integers(1, 20), min_size=2, max_size=5), st.integers(0, 5))
def test_proportions_add_up(replicas: int, sizes: list[int], surge: int) -> None:
    sets = [machine_set(f"ms{number}", size, 40) for number, size in enumerate(sizes, 1)]
    *old, new = sets
    after = {item.metadata.name: item.spec.replicas or 0 for item in sets}
    after |= proportional_scale(deployment(replicas, surge), new, old)
    assert min(after.values()) >= 0
    if sum(sizes) <= replicas + surge:
        assert sum(after.values()) == replicas + surge


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        ("25%", "25%", 10, (3, 2)),
        (1, 0, 3, (1, 0)),
        ("0%", "1%", 5, (0, 1)),
        (0, 0, 5, (0, 1)),
        ("100%", 5, 3, (3, 5)),
    ],
)
def test_fenceposts_limit_a_rollout(
    surge: int | str, unavailable: int | str, desired: int, expected: tuple[int, int]
) -> None:
    assert fenceposts(surge, unavailable, desired) == expected


@pytest.mark.parametrize("value", [None, "3", "x%", "5.5%", "%"])
def test_invalid_numbers_or_percentages_are_refused(value: str | None) -> None:
    with pytest.raises(InvalidIntOrPercent):
        scaled_value(value, 10, round_up=True)
