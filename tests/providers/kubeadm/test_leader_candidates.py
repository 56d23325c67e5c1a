"""Candidates for the leadership of etcd when a Machine is removed."""

from __future__ import annotations

from kapy.providers.kubeadm.controlplane.etcd_members import leader_candidates
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane, say


def test_the_most_reliable_member_leads_first() -> None:
    control_plane = plane(
        machine("going"),
        machine("no-node", node=False),
        machine("leaving", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]),
        machine("sick-etcd"),
        machine("unhealthy"),
        machine("outdated"),
        machine("old", age=7200),
        machine("young", age=60),
    )
    for item in control_plane.machines:
        name = item.metadata.name
        say(control_plane, name, conditions.true("HealthCheckSucceeded", "HealthCheckSucceeded"))
        say(control_plane, name, conditions.true("UpToDate", "UpToDate"))
    say(control_plane, "sick-etcd", conditions.false("EtcdMemberHealthy", "NotHealthy", ""))
    say(control_plane, "unhealthy", conditions.false("HealthCheckSucceeded", "UnhealthyNode", ""))
    say(control_plane, "outdated", conditions.false("UpToDate", "NotUpToDate", ""))
    order = [
        candidate.metadata.name
        for candidate in leader_candidates(control_plane, control_plane.machines[0])
    ]
    assert order == ["young", "old", "outdated", "unhealthy", "sick-etcd"]
