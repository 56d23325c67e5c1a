"""The choice of the next Machine to remove."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.loop import leaving_machine
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane, say

CHOSEN: dict[str, Any] = {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}


@pytest.mark.parametrize(
    ("machines", "outdated", "expected"),
    [
        pytest.param(
            [machine("a", age=10), machine("b", age=30), machine("c", age=20)],
            [],
            "b",
            id="the oldest",
        ),
        pytest.param([machine("b"), machine("a")], [], "a", id="names break ties"),
        pytest.param(
            [machine("a", age=30), machine("b", age=20), machine("c", age=10)],
            ["b", "c"],
            "b",
            id="the oldest that is outdated",
        ),
        pytest.param(
            [machine("a", age=30), machine("b", **CHOSEN)], ["a"], "b", id="one that was chosen"
        ),
        pytest.param(
            [machine("a", age=30, **CHOSEN), machine("b", **CHOSEN)],
            ["b"],
            "b",
            id="of those that were chosen, an outdated one",
        ),
        pytest.param(
            [
                machine("a", age=40, domain="x"),
                machine("b", age=30, domain="y"),
                machine("c", age=20, domain="y"),
            ],
            [],
            "b",
            id="the oldest where the most are",
        ),
        pytest.param(
            [
                machine("a", age=40, domain="x"),
                machine("b", age=30, domain="x"),
                machine("c", age=20, domain="gone"),
            ],
            [],
            "c",
            id="one in a domain that is none any more",
        ),
    ],
)
def test_the_machine_to_delete_is_outdated_and_oldest_in_the_largest_domain(
    machines: list[Document], outdated: list[str], expected: str
) -> None:
    control_plane = plane(
        *machines, domains=["x", "y"] if machines[0]["spec"]["failureDomain"] else []
    )
    candidates = [item for item in control_plane.machines if item.metadata.name in outdated]
    going = leaving_machine(control_plane, candidates)
    assert going is not None
    assert going.metadata.name == expected


def test_a_broken_outdated_machine_is_deleted_first() -> None:
    control_plane = plane(machine("a", age=30), machine("b", age=20))
    say(control_plane, "b", conditions.false("EtcdMemberHealthy", "NotHealthy", "it has an alarm"))
    going = leaving_machine(control_plane, control_plane.machines)
    assert going is not None
    assert going.metadata.name == "b"


def test_no_machine_is_deleted_without_candidates() -> None:
    assert leaving_machine(plane(), []) is None
