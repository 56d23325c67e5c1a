"""The timeline, machines, holds and topology of a cluster, as the UI shows them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from kapy.clusterctl.describe import Node
from kapy.kube import Document, Key
from kapy.ui.blockers import blockers_of
from kapy.ui.class_view import templates_of, variables_of
from kapy.ui.hook_calls import HookCall
from kapy.ui.machines import certificates_of, grid_of, rollouts_of
from kapy.ui.objects import ClusterObjects
from kapy.ui.timeline import MOST_SPANS, WIDTH, timeline_of
from tests.ui.clusters import CREATED, cluster, condition

START = datetime.fromisoformat(CREATED)


def _at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _since(minutes: float, of: Document) -> Document:
    return {**of, "lastTransitionTime": _at(minutes)}


def _machine(
    name: str, version: str, *conditions: Document, owner: str = "", **more: Any
) -> Document:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "creationTimestamp": CREATED,
        },
        "spec": {"version": version, "failureDomain": more.pop("domain", None)},
        "status": {"conditions": list(conditions), "nodeRef": {"name": name}, **more},
    }  # fmt: skip


def _objects(of: Document, **parts: Any) -> ClusterObjects:
    lists: dict[str, Any] = {
        "machines": (), "machine_sets": (), "deployments": (), "pools": (), **parts,
    }  # fmt: skip
    return ClusterObjects(Key("default", of["metadata"]["name"]), Node("Cluster", of), **lists)


def _spans(objects: ClusterObjects, minutes: float, window: str = "all") -> list[tuple[str, str]]:
    now = START + timedelta(minutes=minutes)
    return [(span.title, span.took(now)) for span in timeline_of(objects, (), now, window).spans]


def test_a_creation_is_shown_step_by_step() -> None:
    machine = _machine(
        "m",
        "v1.34.0",
        _since(1, condition("BootstrapConfigReady", "True")),
        _since(3, condition("InfrastructureReady", "True")),
        _since(4, condition("NodeReady", "False", "NodeNotReady", "kubelet is not ready")),
    )
    document = cluster("a", condition("Paused", "False"))
    assert _spans(_objects(document, machines=[machine]), 6) == [
        ("boot data", "60s"),
        ("infrastructure", "2m"),
        ("Node ready: no", "2m, lasts"),
    ]


def test_a_condition_that_may_have_changed_back_is_no_step_of_the_creation() -> None:
    document = cluster("a", _since(300, condition("Available", "True")))
    assert _spans(_objects(document), 302) == [("cluster available", "2m, lasts")]


def test_an_upgrade_lasts_until_the_topology_is_reconciled() -> None:
    event = {
        "metadata": {"name": "e", "creationTimestamp": _at(10)},
        "reason": "TopologyUpdate",
        "firstTimestamp": _at(10),
        "lastTimestamp": _at(10),
        "involvedObject": {"kind": "Cluster", "name": "a"},
        "message": 'Updated KubeadmControlPlane "x" with version change from v1.34.0 to v1.35.0',
    }
    held = _since(10, condition("TopologyReconciled", "False", "ClusterUpgrading"))
    done = _since(15, condition("TopologyReconciled", "True"))
    during = _spans(_objects(cluster("a", held), events=[event]), 13)
    after = _spans(_objects(cluster("a", done), events=[event]), 30)
    assert ("upgrade v1.34.0 → v1.35.0", "3m, lasts") in during
    assert ("upgrade v1.34.0 → v1.35.0", "5m") in after


def test_an_upgrade_without_events_is_derived_from_its_machines() -> None:
    initialized = _since(5, condition("ControlPlaneInitialized", "True"))
    done = _since(80, condition("TopologyReconciled", "True"))
    old, new = _machine("old", "v1.33.0"), _machine("new", "v1.34.0")
    new["metadata"]["creationTimestamp"] = _at(60)
    document = cluster("a", initialized, done)
    after = _spans(_objects(document, machines=[old, new]), 600)
    assert ("upgrade or rollout to v1.34.0", "20m") in after
    first = _machine("first", "v1.34.0")
    assert "upgrade" not in str(_spans(_objects(document, machines=[first, new]), 600))


def test_a_remediation_is_known_from_the_machine_that_replaces_another() -> None:
    machine = _machine("new", "v1.34.0", _since(9, condition("Ready", "True")))
    record = json.dumps({"machine": "lost", "timestamp": _at(4), "retryCount": 0})
    machine["metadata"] |= {
        "annotations": {"controlplane.cluster.x-k8s.io/remediation-for": record},
        "creationTimestamp": _at(5),
    }
    odd = _machine("odd", "v1.34.0")
    odd["metadata"]["annotations"] = {"controlplane.cluster.x-k8s.io/remediation-for": "{[3"}
    assert ("remediation of lost", "5m") in _spans(
        _objects(cluster("a"), machines=[machine, odd]), 20
    )


def test_the_steps_of_a_deletion_and_the_phase_of_a_machine_are_shown() -> None:
    machine = _machine(
        "m",
        "v1.34.0",
        phase="Deleting",
        lastUpdated=_at(10),
        deletion={
            "waitForPreDrainHookStartTime": _at(10),
            "nodeDrainStartTime": _at(12),
            "waitForNodeVolumeDetachStartTime": _at(17),
        },
    )
    machine["metadata"]["deletionTimestamp"] = _at(10)
    waits = _machine("w", "v1.34.0", phase="Provisioning", lastUpdated=_at(1))
    document = cluster("a", condition("Paused", "False"))
    assert _spans(_objects(document, machines=[machine, waits]), 20) == [
        ("phase Provisioning", "19m, lasts"),
        ("deletion", "10m, lasts"),
        ("deletion: waits for pre-drain hooks", "2m"),
        ("deletion: drains the Node", "5m"),
        ("deletion: waits for volumes", "3m, lasts"),
    ]


def test_a_window_cuts_and_places_spans() -> None:
    document = cluster("a", _since(50, condition("Available", "False")))
    now = START + timedelta(hours=2)
    (span,) = timeline_of(_objects(document), (), now, "10m").spans
    assert (span.x, span.width) == (0, WIDTH)


def test_a_timeline_without_room_for_all_keeps_the_life_of_the_cluster() -> None:
    ready = [_since(30, condition(name, "True")) for name in ("NodeReady", "Ready")]
    machines = [_machine(f"m{number:03}", "v1.34.0", *ready) for number in range(MOST_SPANS)]
    broken = _machine("broken", "v1.34.0", _since(2, condition("NodeReady", "False", "NotReady")))
    initialized = _since(1, condition("ControlPlaneInitialized", "True"))
    upgrading = _since(9, condition("TopologyReconciled", "False", "ClusterUpgrading"))
    deployment = {"kind": "MachineDeployment", "metadata": {"name": "md", "uid": "md"}}
    machine_set = _machine("md-1", "v1.34.0") | {"spec": {"template": {"spec": {}}}}
    for owned, owner in ((machine_set, "md"), (machines[0], "md-1")):
        owned["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
    event = {
        "metadata": {"name": "e"}, "type": "Warning", "reason": "Odd", "lastTimestamp": _at(39),
        "firstTimestamp": _at(38), "involvedObject": {"kind": "Cluster", "name": "a"},
    }  # fmt: skip
    objects = _objects(
        cluster("a", initialized, upgrading), machines=[*machines, broken], events=[event],
        deployments=[deployment], machine_sets=[machine_set],
    )  # fmt: skip
    timeline = timeline_of(objects, (), START + timedelta(minutes=40), "all")
    titles = [f"{span.subject}: {span.title}" for span in timeline.spans]
    assert titles[:2] == ["Cluster: control plane initialized", "Cluster: topology"]
    assert {"Machine broken: Node ready: no", "MachineDeployment md: machines"} <= {*titles}
    assert (len(titles), timeline.omitted) == (MOST_SPANS, MOST_SPANS + 5)
    assert "event" not in str(titles)
    assert timeline.start == START


def test_odd_times_do_not_break_a_page() -> None:
    document = cluster("a", {**condition("Available", "False"), "lastTransitionTime": "yesterday"})
    document["metadata"]["creationTimestamp"] = 7
    assert _spans(_objects(document), 1) == []


def test_machines_are_shown_by_failure_domain_and_version() -> None:
    ready = condition("Ready", "True")
    grid = grid_of(
        [
            _machine("a", "v1.34.0", ready, domain="one"),
            _machine("b", "v1.35.0", ready, domain="one"),
            _machine(
                "c", "v1.35.0", condition("Ready", "False", "NotReady", "no Node"), domain="two"
            ),
        ]
    )
    shown = {
        domain: [[machine.name for machine in cell] for cell in cells]
        for domain, cells in grid.rows
    }
    assert list(grid.versions) == ["v1.34.0", "v1.35.0"]
    assert shown == {"one": [["a"], ["b"]], "two": [[], ["c"]]}
    assert grid.rows[1][1][1][0].mood == "bad"


def test_a_rollout_tells_old_surge_and_unavailable() -> None:
    deployment = {
        "kind": "MachineDeployment",
        "metadata": {"name": "md", "uid": "md"},
        "spec": {"replicas": 3, "template": {"spec": {"version": "v1.35.0"}}},
        "status": {"replicas": 4, "upToDateReplicas": 1, "availableReplicas": 2,
                   "conditions": [condition("RollingOut", "True")]},
    }  # fmt: skip
    machine = _machine("a", "v1.34.0")
    machine["metadata"]["labels"] = {"cluster.x-k8s.io/deployment-name": "md"}
    (item,) = rollouts_of(_objects(cluster("c"), deployments=[deployment], machines=[machine]))
    assert (item.old_versions, item.old, item.surge, item.unavailable, item.is_moving) == (
        ["v1.34.0"], 3, 1, 1, True,
    )  # fmt: skip


def test_certificates_that_end_soon_come_first_and_are_marked() -> None:
    machines = [
        _machine("late", "v1", certificatesExpiryDate="2027-01-01T00:00:00Z"),
        _machine("over", "v1", certificatesExpiryDate="2025-12-31T00:00:00Z"),
        _machine("soon", "v1", certificatesExpiryDate="2026-01-20T00:00:00Z"),
        _machine("odd", "v1", certificatesExpiryDate="soon"),
    ]
    certificates = certificates_of(machines, START)
    assert [(certificate.machine, certificate.mood) for certificate in certificates] == [
        ("over", "bad"), ("soon", "unknown"), ("late", "good"),
    ]  # fmt: skip


def test_a_blocking_hook_is_shown_with_its_answer_and_next_call() -> None:
    line = "Following hooks are blocking upgrade: BeforeClusterUpgrade: wait"
    message = f"Cluster is upgrading to v1.35.0\n  * {line}"
    held = condition("TopologyReconciled", "False", "ClusterUpgrading", message)
    now = datetime(2026, 1, 1, 1, tzinfo=UTC)
    retry = now + timedelta(seconds=30)
    call = HookCall(now, "BeforeClusterUpgrade", "gate.ext", 0.01, "Success", "not now", retry)
    objects = _objects(cluster("a", held))
    (blocker,) = blockers_of(objects, [call])
    (unknown,) = blockers_of(objects, [])
    assert (blocker.what, blocker.message, blocker.retry) == (
        "BeforeClusterUpgrade (gate.ext)", "not now", retry,
    )  # fmt: skip
    assert (unknown.message, unknown.retry) == (
        line,
        None,
    )
    assert (
        blockers_of(_objects(cluster("a", condition("TopologyReconciled", "True"))), [call]) == []
    )


def test_annotations_that_block_are_named() -> None:
    name = "before-upgrade.hook.cluster.cluster.x-k8s.io/window"
    machine = _machine("m", "v1")
    machine["metadata"] |= {
        "deletionTimestamp": CREATED,
        "annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/backup": ""},
    }
    objects = _objects(cluster("a", annotations={name: ""}), machines=[machine])
    assert [(blocker.subject, blocker.annotation) for blocker in blockers_of(objects, [])] == [
        ("Cluster", name),
        ("Machine m", "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"),
    ]


def test_variables_and_their_overrides_are_shown_with_their_place() -> None:
    document = cluster("a")
    document["spec"]["topology"] |= {
        "variables": [{"name": "cni", "value": {"mtu": 1400}}],
        "workers": {
            "machineDeployments": [
                {"name": "md", "variables": {"overrides": [{"name": "cni", "value": "x"}]}}
            ]
        },
    }
    assert [
        (variable.name, variable.place, variable.value) for variable in variables_of(document)
    ] == [
        ("cni", "", "mtu: 1400"),
        ("cni", "MachineDeployment md", "x"),
    ]


def test_patches_are_shown_at_the_templates_that_they_select() -> None:
    def reference(kind: str) -> Document:
        return {"apiVersion": "x/v1", "kind": kind, "name": kind.lower()}

    selector = {
        "apiVersion": "x/v1",
        "kind": "Boot",
        "matchResources": {"machineDeploymentClass": {"names": ["gpu-*"]}},
    }
    operation = {"op": "add", "path": "/spec/a", "valueFrom": {"variable": "cni"}}
    workers = [
        {"class": name, "bootstrap": {"templateRef": reference("Boot")}}
        for name in ("gpu-large", "small")
    ]
    templates = templates_of(
        {
            "spec": {
                "infrastructure": {"templateRef": reference("Net")},
                "workers": {"machineDeployments": workers},
                "patches": [
                    {
                        "name": "p",
                        "enabledIf": "{{ .on }}",
                        "definitions": [{"selector": selector, "jsonPatches": [operation]}],
                    },
                    {"name": "q", "external": {"generatePatchesExtension": "ext"}},
                ],
            }
        }
    )
    assert [
        (template.place, [use.patch["name"] for use in template.patches]) for template in templates
    ] == [
        ("infrastructure", ["q"]),
        ("machineDeployments class gpu-large: bootstrap", ["p", "q"]),
        ("machineDeployments class small: bootstrap", ["q"]),
    ]
    use = templates[1].patches[0]
    assert (use.paths, use.variables) == (["add /spec/a"], ["cni"])
