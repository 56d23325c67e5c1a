"""The calls of extensions in a managed cluster's life, and the steps that wait for answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.kube import Document
from kapy.topology.hook_cache import PLAN_SECONDS, HookCache
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import Answer, Hook, HookError, UpgradePlans, UpgradeSteps
from kapy.topology.state import ClusterState
from tests.topology.managed import Asked, blueprint, cluster, made, settled, topology, versions

OLD, MIDDLE, NEW = "v1.32.5", "v1.33.4", "v1.34.0"
CHAIN: Document = {"spec": {"kubernetesVersions": [OLD, MIDDLE, NEW]}}
PENDING = "runtime.cluster.x-k8s.io/pending-hooks"


class Extension:
    """Holds what it is told to hold, for ten seconds, and remembers what it was asked."""

    def __init__(self, *blocking: Hook, absent: frozenset[Hook] = frozenset()) -> None:
        self.blocking = set(blocking)
        self.absent = absent
        self.asked: list[str] = []
        self.shown: Cluster | None = None
        self.plans = UpgradePlans([MIDDLE, NEW])

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:
        return hook not in self.absent

    def _answer(self, hook: Hook, cluster: Cluster, *facts: object) -> Answer:
        self.shown = cluster
        self.asked.append(" ".join([hook, *map(_text, facts)]))
        return Answer(10, "not yet") if hook in self.blocking else Answer(0, "go")

    async def before_cluster_create(self, cluster: Cluster) -> Answer:
        return self._answer(Hook.BEFORE_CLUSTER_CREATE, cluster)

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:
        return self._answer(Hook.AFTER_CONTROL_PLANE_INITIALIZED, cluster)

    async def before_cluster_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return self._answer(Hook.BEFORE_CLUSTER_UPGRADE, cluster, start, target, steps)

    async def before_control_plane_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return self._answer(Hook.BEFORE_CONTROL_PLANE_UPGRADE, cluster, start, target, steps)

    async def after_control_plane_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        return self._answer(Hook.AFTER_CONTROL_PLANE_UPGRADE, cluster, version, steps)

    async def before_workers_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        return self._answer(Hook.BEFORE_WORKERS_UPGRADE, cluster, start, target, steps)

    async def after_workers_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        return self._answer(Hook.AFTER_WORKERS_UPGRADE, cluster, version, steps)

    async def after_cluster_upgrade(self, cluster: Cluster, version: str) -> Answer:
        return self._answer(Hook.AFTER_CLUSTER_UPGRADE, cluster, version)

    async def before_cluster_delete(self, cluster: Cluster) -> Answer:
        return self._answer(Hook.BEFORE_CLUSTER_DELETE, cluster)

    async def generate_upgrade_plan(
        self, extension: str, cluster: Cluster, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        self.asked.append(f"plan by {extension}: {control_plane} {workers} {target}")
        return self.plans


def _text(fact: object) -> str:
    if isinstance(fact, UpgradeSteps):
        return f"[{' '.join(fact.control_plane)} | {' '.join(fact.workers)}]"
    return str(fact)


class Life:
    """A cluster that is upgraded to v1.34.0 over v1.33.4, one reconcile at a time."""

    def __init__(self, current: ClusterState, extension: Extension) -> None:
        self.current = current
        self.extension = extension
        self.memory = HookCache()

    async def reconcile(self, *, reached: bool = True) -> list[str]:
        """Reconcile once, and return the calls of extensions. reached: whether all machines get
        their desired version before the next reconcile."""
        request = Asked(self.current, self.extension, self.memory)
        self.extension.asked = []
        desired = await request.state(blueprint(self.current.cluster, CHAIN))
        self.asked = request
        goes = versions(desired)
        for state, upgrade in (
            (desired.machine_deployments, request.upgrades.machine_deployments),
            (desired.machine_pools, request.upgrades.machine_pools),
        ):
            before = versions(self.current)
            for name, item in state.items():
                if item.object.metadata.name in upgrade.pending:
                    goes[name] = before[name]
        await request.calls.after_cluster_upgrade(NEW, settled=request.upgrades.is_settled)
        ran = self.current.control_plane.object
        assert ran is not None
        running = goes["plane"] if reached else ran["status"]["version"]
        self.current = settled(desired, **goes, running=running)
        annotations = self.current.cluster.metadata.annotations
        for owed in request.written:
            annotations[PENDING] = owed
        return self.extension.asked


async def life(extension: Extension, **has: str) -> Life:
    current = settled(await made(topology(version=has["plane"])), **has)
    current.cluster.spec.topology = cluster().spec.topology
    return Life(current, extension)


async def test_an_upgrade_over_two_minors_calls_every_hook() -> None:
    story = await life(Extension(), plane=OLD, md=OLD, mp=OLD)
    assert await story.reconcile(reached=False) == [
        f"BeforeClusterUpgrade {OLD} {NEW} [{MIDDLE} {NEW} | {NEW}]",
        f"BeforeControlPlaneUpgrade {OLD} {MIDDLE} [{MIDDLE} {NEW} | {NEW}]",
    ]
    assert story.asked.written == [
        "AfterClusterUpgrade",
        "AfterClusterUpgrade,AfterControlPlaneUpgrade",
    ]
    assert await story.reconcile() == [], "nobody is asked while machines are replaced"
    assert await story.reconcile(reached=False) == [
        f"AfterControlPlaneUpgrade {MIDDLE} [{NEW} | {NEW}]",
        f"BeforeControlPlaneUpgrade {MIDDLE} {NEW} [{NEW} | {NEW}]",
    ]
    assert story.asked.written == [
        "AfterClusterUpgrade",
        "AfterClusterUpgrade,AfterControlPlaneUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade",
    ]
    assert await story.reconcile() == []
    assert await story.reconcile() == [
        f"AfterControlPlaneUpgrade {NEW} [ | {NEW}]",
        f"BeforeWorkersUpgrade {OLD} {NEW} [ | {NEW}]",
    ]
    assert versions(story.current) == {"plane": NEW, "md": NEW, "mp": NEW}
    assert story.asked.written[-1] == "AfterClusterUpgrade,AfterWorkersUpgrade"
    assert await story.reconcile() == [
        f"AfterWorkersUpgrade {NEW} [ | ]",
        f"AfterClusterUpgrade {NEW}",
    ]
    assert story.asked.written == ["AfterClusterUpgrade", ""]
    assert await story.reconcile() == []


@pytest.mark.parametrize(
    ("hook", "owed", "has", "stays"),
    [
        (Hook.BEFORE_CLUSTER_UPGRADE, "", {"plane": OLD}, {"plane": OLD}),
        (
            Hook.BEFORE_CONTROL_PLANE_UPGRADE,
            "AfterClusterUpgrade",
            {"plane": MIDDLE},
            {"plane": MIDDLE},
        ),
        (
            Hook.AFTER_CONTROL_PLANE_UPGRADE,
            "AfterClusterUpgrade,AfterControlPlaneUpgrade",
            {"plane": NEW, "md": MIDDLE},
            {"plane": NEW, "md": MIDDLE},
        ),
        (
            Hook.BEFORE_WORKERS_UPGRADE,
            "AfterClusterUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade",
            {"plane": NEW, "mp": MIDDLE},
            {"plane": NEW, "mp": MIDDLE},
        ),
        (
            Hook.AFTER_WORKERS_UPGRADE,
            "AfterClusterUpgrade,AfterWorkersUpgrade",
            {"plane": MIDDLE, "md": MIDDLE, "mp": MIDDLE},
            {"plane": MIDDLE},
        ),
        (Hook.AFTER_CLUSTER_UPGRADE, "AfterClusterUpgrade", {"plane": NEW}, {"plane": NEW}),
    ],
)
async def test_an_answer_blocks_the_next_step_until_its_retry(
    hook: Hook, owed: str, has: dict[str, str], stays: dict[str, str]
) -> None:
    story = await life(Extension(hook), **{"md": NEW, "mp": NEW, **has})
    story.current.cluster.metadata.annotations[PENDING] = owed
    [request] = [text for text in await story.reconcile() if text.startswith(hook)]
    calls = story.asked.calls
    assert versions(story.current).items() >= stays.items()
    assert calls.is_blocked_by(hook)
    assert (
        calls.blocking_message("upgrade")
        == f"Following hooks are blocking upgrade: {hook}: not yet"
    )
    assert calls.retry_after == 10

    await asyncio.sleep(4)
    assert request not in await story.reconcile(), "it said when it wants to be asked again"
    assert story.asked.calls.retry_after == 6
    await asyncio.sleep(6)
    assert request in await story.reconcile()
    story.extension.blocking.clear()
    await asyncio.sleep(10)
    await story.reconcile()
    assert not story.asked.calls.is_blocked_by(hook)


async def test_hooks_without_handlers_pass_and_are_no_longer_pending() -> None:
    story = await life(Extension(absent=frozenset(Hook)), plane=OLD, md=OLD, mp=OLD)
    for _ in range(6):
        assert await story.reconcile() == []
    assert versions(story.current) == {"plane": NEW, "md": NEW, "mp": NEW}
    assert story.asked.calls.answers == {}
    assert story.current.cluster.metadata.annotations[PENDING] == ""


async def test_the_step_is_reported_until_the_last_hook_has_been_called() -> None:
    """An upgrade that an extension holds at its end is not over: what follows must wait."""
    story = await life(Extension(Hook.AFTER_CLUSTER_UPGRADE), plane=NEW, md=NEW, mp=NEW)
    step = "topology.internal.cluster.x-k8s.io/upgrade-step"
    story.current.cluster.metadata.annotations[PENDING] = "AfterClusterUpgrade"
    await story.reconcile()
    assert story.current.cluster.metadata.annotations[step] == NEW
    story.current.cluster.metadata.annotations[PENDING] = ""
    await story.reconcile()
    assert step not in story.current.cluster.metadata.annotations


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a"], "annotation {0}/a is set"),
        (["b", "a"], "annotations {0}/a, {0}/b are set"),
    ],
)
async def test_annotations_of_users_hold_an_upgrade(names: list[str], sentence: str) -> None:
    prefix = "before-upgrade.hook.cluster.cluster.x-k8s.io"
    story = await life(Extension(), plane=OLD, md=OLD, mp=OLD)
    for name in names:
        story.current.cluster.metadata.annotations[f"{prefix}/{name}"] = ""
    assert await story.reconcile() == []
    answer = story.asked.calls.answers[Hook.BEFORE_CLUSTER_UPGRADE]
    assert answer == Answer(1200, sentence.format(prefix))
    assert versions(story.current)["plane"] == OLD


def calls(
    wanted: Cluster,
    extension: Extension | None,
    written: list[str],
    memory: HookCache | None = None,
) -> HookCalls:
    async def write(annotation: str) -> None:
        written.append(annotation)

    return HookCalls(wanted, extension, memory or HookCache(), write)


async def test_with_the_feature_gate_disabled_no_hook_is_called_or_pending() -> None:
    written: list[str] = []
    closed = calls(cluster(), None, written)
    assert await closed.before_cluster_create()
    await closed.after_control_plane_initialized(creating=True, initialized=True)
    assert await closed.before_cluster_upgrade(OLD, NEW, UpgradeSteps())
    assert await closed.after_cluster_upgrade(NEW, settled=True)
    assert await closed.before_cluster_delete()
    await closed.mark_pending(Hook.AFTER_CLUSTER_UPGRADE)
    assert written == []
    with pytest.raises(HookError, match='GenerateUpgradePlan extension "x" if RuntimeSDK'):
        await closed.upgrade_plan("x", OLD, OLD, NEW)


@pytest.mark.parametrize("earlier", [Hook.AFTER_CONTROL_PLANE_UPGRADE, Hook.AFTER_WORKERS_UPGRADE])
async def test_the_end_of_an_upgrade_is_reported_after_the_end_of_its_steps(earlier: Hook) -> None:
    owed = f"{Hook.AFTER_CLUSTER_UPGRADE},{earlier}"
    extension, written = Extension(), list[str]()
    annotated = cluster({"metadata": {"annotations": {PENDING: owed}}})
    await calls(annotated, extension, written).after_cluster_upgrade(NEW, settled=True)
    assert (extension.asked, written) == ([], [])


async def test_after_control_plane_initialized_is_called_once() -> None:
    written: list[str] = []
    extension = Extension()
    first = calls(cluster(), extension, written)
    await first.after_control_plane_initialized(creating=True, initialized=False)
    assert (written, extension.asked) == (["AfterControlPlaneInitialized"], [])
    annotated = cluster({"metadata": {"annotations": {PENDING: written[-1]}}})
    again = calls(annotated, extension, written)
    await again.after_control_plane_initialized(creating=False, initialized=True)
    assert (written[-1], extension.asked) == ("", ["AfterControlPlaneInitialized"])
    await calls(cluster(), extension, written).after_control_plane_initialized(
        creating=False, initialized=True
    )
    assert len(extension.asked) == 1


async def test_creation_and_deletion_call_their_hooks() -> None:
    extension = Extension(Hook.BEFORE_CLUSTER_CREATE, Hook.BEFORE_CLUSTER_DELETE)
    assert not await calls(cluster(), extension, []).before_cluster_create()
    assert not await calls(cluster(), extension, []).before_cluster_delete()
    allowed = cluster({"metadata": {"annotations": {"runtime.cluster.x-k8s.io/ok-to-delete": ""}}})
    assert await calls(allowed, extension, []).before_cluster_delete()
    assert extension.asked == ["BeforeClusterCreate", "BeforeClusterDelete"]


@pytest.mark.parametrize(
    ("metadata", "again"),
    [
        ({}, False),
        ({"generation": 2}, True),
        ({"labels": {"team": "blue"}}, True),
        ({"annotations": {"example.com/backup": "done"}}, True),
        ({"annotations": {PENDING: "AfterClusterUpgrade"}}, False),
        ({"annotations": {"topology.internal.cluster.x-k8s.io/upgrade-step": NEW}}, False),
        ({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, False),
    ],
)
async def test_a_changed_cluster_calls_a_blocking_hook_at_once(
    metadata: Document, again: bool
) -> None:
    extension, memory = Extension(Hook.BEFORE_CLUSTER_DELETE), HookCache()
    await calls(cluster(), extension, [], memory).before_cluster_delete()
    await asyncio.sleep(1)
    later = calls(cluster({"metadata": metadata}), extension, [], memory)
    assert not await later.before_cluster_delete()
    assert len(extension.asked) == 1 + again
    assert later.retry_after == (10 if again else 9)


async def test_an_extension_that_writes_an_annotation_each_time_is_asked_once_a_second() -> None:
    extension, memory = Extension(Hook.BEFORE_CLUSTER_DELETE), HookCache()
    for number in range(30):
        noted = cluster({"metadata": {"annotations": {"example.com/asked": f"{number}"}}})
        assert not await calls(noted, extension, [], memory).before_cluster_delete()
        await asyncio.sleep(0.1)
    assert len(extension.asked) == 3


async def test_extensions_get_the_cluster_without_bookkeeping_annotations() -> None:
    change: Any = {
        "metadata": {
            "annotations": {
                "mine": "1",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "cluster.x-k8s.io/conversion-data": "{}",
            }
        },
        "status": {"phase": "Provisioned"},
    }
    extension, wanted = Extension(), cluster(change)
    await calls(wanted, extension, []).before_cluster_create()
    assert extension.shown is not None
    assert extension.shown.metadata.annotations == {"mine": "1"}
    assert (extension.shown.status.phase, wanted.status.phase) == ("", "Provisioned")
    assert extension.shown.spec == wanted.spec


async def test_an_extension_plans_upgrades_and_is_asked_again_when_something_changes() -> None:
    by_extension: Document = {
        "spec": {"upgrade": {"external": {"generateUpgradePlanExtension": "planner"}}}
    }
    current = settled(await made(topology(version=OLD)))
    current.cluster.spec.topology = cluster().spec.topology
    extension, memory = Extension(absent=frozenset(Hook)), HookCache()

    async def plan() -> list[str]:
        request = Asked(current, extension, memory)
        await request.state(blueprint(current.cluster, by_extension))
        return request.upgrades.control_plane.plan

    assert await plan() == await plan() == [MIDDLE, NEW]
    assert extension.asked == [f"plan by planner: {OLD} {OLD} {NEW}"]
    await asyncio.sleep(PLAN_SECONDS)
    await plan()
    assert len(extension.asked) == 2
    current = settled(current, plane=MIDDLE)
    extension.plans = UpgradePlans([NEW])
    assert await plan() == [NEW]
    assert extension.asked[2:] == [f"plan by planner: {MIDDLE} {OLD} {NEW}"]


async def test_a_plan_is_that_of_the_extension_that_the_class_names() -> None:
    extension = Extension()
    asking = calls(cluster(), extension, [])
    for name in ("a", "a", "b"):
        await asking.upgrade_plan(name, OLD, OLD, NEW)
    assert extension.asked == [f"plan by {name}: {OLD} {OLD} {NEW}" for name in ("a", "b")]
