"""Who may lead etcd after the Machine that goes."""

from __future__ import annotations

from kapy.providers.kubeadm.controlplane.etcd_members import leader_candidates
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane, say


def test_the_most_reliable_first() -> None:
    found = plane(
        machine("going"),
        machine("no-node", node=False),
        machine("leaving", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]),
        machine("sick-etcd"),
        machine("unhealthy"),
        machine("outdated"),
        machine("old", age=7200),
        machine("young", age=60),
    )
    for one in found.machines:
        name = one.metadata.name
        say(found, name, conditions.true("HealthCheckSucceeded", "HealthCheckSucceeded"))
        say(found, name, conditions.true("UpToDate", "UpToDate"))
    say(found, "sick-etcd", conditions.false("EtcdMemberHealthy", "NotHealthy", ""))
    say(found, "unhealthy", conditions.false("HealthCheckSucceeded", "UnhealthyNode", ""))
    say(found, "outdated", conditions.false("UpToDate", "NotUpToDate", ""))
    order = [one.metadata.name for one in leader_candidates(found, found.machines[0])]
    assert order == ["young", "old", "outdated", "unhealthy", "sick-etcd"]
