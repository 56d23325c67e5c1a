"""The version of each part of a managed cluster, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.topology.desired import CannotCompute
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_plan import BadUpgradePlan
from tests.topology.managed import Asked, blueprint, cluster, made, settled, topology, versions

OLD, MIDDLE, NEW = "v1.32.5", "v1.33.4", "v1.34.0"
CHAIN: Document = {"spec": {"kubernetesVersions": [OLD, MIDDLE, NEW]}}
DEFER = "topology.cluster.x-k8s.io/defer-upgrade"
HOLD = "topology.cluster.x-k8s.io/hold-upgrade-sequence"


def groups(*names: str, **annotated: str) -> Document:
    """A topology of these MachineDeployments and no pool; annotated: by name, the annotation."""
    return topology(
        workers={
            "machineDeployments": [
                {"class": "small", "name": name, "metadata": {"annotations": {annotated[name]: ""}}}
                if name in annotated
                else {"class": "small", "name": name}
                for name in names
            ],
            "machinePools": None,
        }
    )


async def asked(
    current: ClusterState, change: Document | None = None, of_class: Document | None = None
) -> tuple[Asked, ClusterState]:
    """Return the request and the next desired state of a Cluster that wants v1.34.0."""
    current.cluster.spec.topology = cluster(change).spec.topology
    request = Asked(current)
    return request, await request.state(blueprint(current.cluster, of_class))


@pytest.mark.parametrize(
    ("has", "wanted", "flags"),
    [
        ({}, NEW, set()),
        ({"plane": MIDDLE, "running": ""}, MIDDLE, {"pending", "provisioning"}),
        ({"plane": NEW, "running": ""}, NEW, {"provisioning"}),
        ({"plane": MIDDLE, "running": OLD}, MIDDLE, {"pending", "upgrading"}),
        ({"plane": NEW, "running": MIDDLE}, NEW, {"upgrading"}),
        ({"plane": MIDDLE, "md": MIDDLE, "mp": MIDDLE}, NEW, {"starting"}),
        ({"plane": MIDDLE, "md": OLD, "mp": OLD}, NEW, {"starting"}),
    ],
)
async def test_a_control_plane_takes_the_wanted_version_when_it_is_stable(
    has: dict[str, str], wanted: str, flags: set[str]
) -> None:
    result, desired = await asked(settled(await made(), **has))
    upgrade = result.upgrades.control_plane
    assert versions(desired)["plane"] == wanted
    flag_names = {"pending", "provisioning", "upgrading", "starting", "waiting_for_workers"}
    assert {text for text in flag_names if getattr(upgrade, text)} == flags


async def test_a_control_plane_waits_for_workers_that_are_upgrading() -> None:
    for kind in ("machine_deployments", "machine_pools"):
        current = settled(await made(), plane=MIDDLE, md=MIDDLE, mp=MIDDLE)
        for value in getattr(current, kind).values():
            value.is_upgrading = True
        result, desired = await asked(current)
        assert versions(desired)["plane"] == MIDDLE
        assert result.upgrades.control_plane.pending


async def test_an_upgrade_over_several_minors_continues_step_by_step() -> None:
    """The control plane goes first; workers take one step, when it is where they will be."""
    current = settled(await made(), plane=OLD, md=OLD, mp=OLD)
    steps = []
    for _ in range(20):
        result, desired = await asked(current, None, CHAIN)
        if versions(desired) == versions(current):
            break
        step = {"plan": list(result.upgrades.control_plane.plan), **versions(desired)}
        steps.append(step)
        annotations = desired.cluster.metadata.annotations
        assert annotations == {"topology.internal.cluster.x-k8s.io/upgrade-step": step["plane"]}
        written = written_of(result, current, desired)
        current = settled(desired, **written, running=written["plane"])
    assert steps == [
        {"plan": [MIDDLE, NEW], "plane": MIDDLE, "md": OLD, "mp": OLD},
        {"plan": [NEW], "plane": NEW, "md": OLD, "mp": OLD},
        {"plan": [], "plane": NEW, "md": NEW, "mp": NEW},
    ]
    assert desired.cluster.metadata.annotations == {}


def written_of(value: Asked, current: ClusterState, desired: ClusterState) -> dict[str, str]:
    """The versions after a reconcile: whoever is pending is not written."""
    after, before = versions(desired), versions(current)
    upgrades = value.upgrades
    for name, md in desired.machine_deployments.items():
        if md.object.metadata.name in upgrades.machine_deployments.pending:
            after[name] = before[name]
    for name, mp in desired.machine_pools.items():
        if mp.object.metadata.name in upgrades.machine_pools.pending:
            after[name] = before[name]
    return after


async def test_a_control_plane_waits_for_workers_before_it_runs_too_far_ahead() -> None:
    far = ["v1.30.0", "v1.31.0", "v1.32.5", "v1.33.4", "v1.34.0"]
    chain: Document = {"spec": {"kubernetesVersions": far}}
    current = settled(await made(), plane="v1.33.4", md="v1.30.0", mp="v1.30.0")
    result, desired = await asked(current, None, chain)
    assert result.upgrades.machine_deployments.plan == ["v1.33.4", "v1.34.0"]
    assert result.upgrades.control_plane.waiting_for_workers
    assert versions(desired) == {"plane": "v1.33.4", "md": "v1.33.4", "mp": "v1.33.4"}

    slow = settled(desired, plane="v1.33.4", md="v1.33.4", mp="v1.30.0")
    result, desired = await asked(slow, None, chain)
    assert versions(desired) == {"plane": "v1.33.4", "md": "v1.33.4", "mp": "v1.33.4"}
    names = {deployment.object.metadata.name for deployment in desired.machine_deployments.values()}
    assert result.upgrades.machine_deployments.pending == names, "it waits for the slower ones"


@pytest.mark.parametrize(
    ("names", "annotated", "most", "upgrading", "deferred"),
    [
        ("abc", {}, None, "a", ""),
        ("abc", {}, "2", "ab", ""),
        ("abc", {}, "9", "abc", ""),
        ("abc", {}, "nonsense", "a", ""),
        ("abc", {"a": DEFER}, None, "b", "a"),
        ("abc", {"b": DEFER}, "9", "ac", "b"),
        ("abc", {"b": HOLD}, "9", "a", "bc"),
        ("abc", {"a": HOLD}, "9", "", "abc"),
        ("abc", {"a": DEFER, "c": HOLD}, "9", "b", "ac"),
    ],
)
async def test_workers_upgrade_in_order_up_to_the_concurrency_without_deferred_ones(
    names: str, annotated: dict[str, str], most: str | None, upgrading: str, deferred: str
) -> None:
    change = groups(*names, **annotated)
    current = settled(await made(change), plane=NEW, **dict.fromkeys(names, MIDDLE))
    if most is not None:
        key = "topology.cluster.x-k8s.io/upgrade-concurrency"
        current.cluster.metadata.annotations[key] = most
    result, desired = await asked(current, change)
    states = desired.machine_deployments
    called = {states[name].object.metadata.name: name for name in names}
    upgrade = result.upgrades.machine_deployments
    assert "".join(sorted(called[text] for text in upgrade.upgrading)) == upgrading
    assert "".join(sorted(called[text] for text in upgrade.deferred)) == deferred
    assert {called[text] for text in upgrade.pending} == set(names) - set(upgrading)
    got = {name for name in names if versions(desired)[name] == NEW}
    assert got == set(upgrading)


@pytest.mark.parametrize(
    ("has", "created"),
    [({}, True), ({"plane": MIDDLE, "running": OLD}, False), ({"plane": MIDDLE}, False)],
)
async def test_new_workers_come_when_the_control_plane_is_stable(
    has: dict[str, str], created: bool
) -> None:
    current = settled(await made(groups("old")), **has)
    result, desired = await asked(current, groups("old", "new"))
    assert versions(desired)["new"] == NEW
    assert result.upgrades.machine_deployments.pending_create == (set() if created else {"new"})


async def test_workers_wait_while_the_control_plane_is_busy() -> None:
    current = settled(await made(), plane=NEW, running=MIDDLE, md=MIDDLE, mp=MIDDLE)
    result, desired = await asked(current)
    assert versions(desired) == {"plane": NEW, "md": MIDDLE, "mp": MIDDLE}
    assert result.upgrades.machine_deployments.pending
    assert result.upgrades.machine_pools.pending


@pytest.mark.parametrize(
    ("has", "of_class", "error", "sentence"),
    [
        (
            {"plane": "v1.31.0"},
            None,
            BadUpgradePlan,
            "cannot compute an upgrade plan from v1.31.0 to v1.34.0",
        ),
        (
            {"plane": MIDDLE, "md": "nonsense"},
            None,
            BadUpgradePlan,
            "failed to parse version nonsense of MachineDeployment c-md-",
        ),
        (
            {"plane": "nonsense"},
            None,
            BadUpgradePlan,
            "failed to parse ControlPlane version nonsense: ",
        ),
        (
            {"plane": OLD},
            {"spec": {"kubernetesVersions": [OLD, NEW]}},
            BadUpgradePlan,
            "invalid ControlPlane upgrade plan: item 0; expecting a version with minor 32 or 33",
        ),
    ],
)
async def test_versions_without_a_way_between_them_are_reported(
    has: dict[str, str], of_class: Document | None, error: type[Exception], sentence: str
) -> None:
    current = settled(await made(), **has)
    with pytest.raises(error) as failure:
        await asked(current, None, of_class)
    assert str(failure.value).startswith(sentence)


async def test_a_control_plane_that_says_no_version_is_reported() -> None:
    current = settled(await made())
    plane: Any = current.control_plane.object
    current.control_plane.object = {**plane, "spec": {}}
    with pytest.raises(CannotCompute) as failure:
        await asked(current)
    assert str(failure.value) == (
        "failed to get the version from control plane spec: "
        ".spec.version: mandatory field is not set"
    )


async def test_the_newer_build_is_that_of_the_control_plane() -> None:
    change = topology(version="v1.34.0+b")
    current = settled(await made(), plane="v1.34.0+a", md="v1.34.0+a", mp="v1.34.0+a")
    result, desired = await asked(current, change)
    assert versions(desired) == {"plane": "v1.34.0+b", "md": "v1.34.0+a", "mp": "v1.34.0+a"}
    assert result.upgrades.workers_plan == ["v1.34.0+b"]

    for slow in ("md", "mp"):
        has = {"md": "v1.34.0+b", "mp": "v1.34.0+b", slow: "v1.34.0+a"}
        result, after = await asked(settled(desired, plane="v1.34.0+b", **has), change)
        assert result.upgrades.oldest_workers == "v1.34.0+a"
        assert versions(after) == {"plane": "v1.34.0+b", "md": "v1.34.0+b", "mp": "v1.34.0+b"}
