"""Tests that applied changes have the results that their plan predicts.

Two clusters undergo four generated changes each. KAPY_SEEDS=50 tests more clusters.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.times import stamp
from kapy.apps.plan.differences import compared_part
from kapy.apps.plan.planned import Plan
from kapy.apps.plan.post_rollout_state import PLANNED_NAME
from kapy.apps.plan.snapshot import Name
from kapy.kube import Document
from kapy.kube.names import GroupKind
from tests.apps.plan.planning import LONG, apply, graph, plan_of, plane, sample

SEEDS = int(os.environ.get("KAPY_SEEDS", "2"))
TOPOLOGY = "topology.cluster.x-k8s.io/owned"
VERSIONS = ("v1.34.0", "v1.34.1", "v1.35.0", "v1.36.0")
CHANGES = 4
MACHINES = GroupKind("cluster.x-k8s.io", "Machine")

Mutation = Callable[[Random, list[Document]], None]


def change_version(_: Random, documents: list[Document]) -> None:
    now = topology(documents)["version"]
    topology(documents)["version"] = next((version for version in VERSIONS if version > now), now)


def scale_workers(random: Random, documents: list[Document]) -> None:
    for worker in workers(documents):
        worker["replicas"] = random.randint(0, 4)


def scale_control_plane(random: Random, documents: list[Document]) -> None:
    topology(documents)["controlPlane"]["replicas"] = random.choice([1, 3])


def add_workers(random: Random, documents: list[Document]) -> None:
    name = f"md-{random.randint(1, 9)}"
    if all(worker["name"] != name for worker in workers(documents)):
        workers(documents).append({"class": "grazer", "name": name, "replicas": 1})


def drop_workers(random: Random, documents: list[Document]) -> None:
    if len(workers(documents)) > 1:
        workers(documents).pop(random.randrange(len(workers(documents))))


def change_variable(random: Random, documents: list[Document]) -> None:
    value = {"pasture": random.choice(["north", "west"])}
    topology(documents)["variables"] = [{"name": "nodeLabels", "value": value}]


def enable_patch(_: Random, documents: list[Document]) -> None:
    variables = topology(documents).setdefault("variables", [])
    if all(variable["name"] != "auditLog" for variable in variables):
        variables.append({"name": "auditLog", "value": True})


def change_template_of_class(random: Random, documents: list[Document]) -> None:
    """A template of a class never changes: the class gets another one."""
    template = deepcopy(the_one(documents, "DevMachineTemplate", "meadow-grazer"))
    name = template["metadata"]["name"] = f"meadow-grazer-{random.randrange(10**6)}"
    part = template["spec"]["template"]["spec"]["backend"]["inMemory"]["vm"]["provisioning"]
    part["startupJitter"] = random.choice(["0.1", "0.3"])
    documents.append(template)
    workers_class(documents)["infrastructure"]["templateRef"]["name"] = name


def change_labels(random: Random, documents: list[Document]) -> None:
    topology(documents)["controlPlane"]["metadata"] = {"labels": {"herd": str(random.random())}}
    for worker in workers(documents):
        worker["metadata"] = {"labels": {"herd": "new"}, "annotations": {"note": "x"}}


def change_strategy(random: Random, documents: list[Document]) -> None:
    rolling = random.choice([{"maxSurge": 0, "maxUnavailable": 1}, {"maxSurge": 2}])
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    for worker in workers(documents):
        worker["rollout"] = {**worker.get("rollout", {}), "strategy": strategy}


def some_time_ago(random: Random) -> str:
    """Since the last change, or long before the first one."""
    return stamp(loop_clock()() - timedelta(minutes=random.choice([1, 30, 10_000])))


def restart_workers(random: Random, documents: list[Document]) -> None:
    for worker in workers(documents):
        worker["rollout"] = {**worker.get("rollout", {}), "after": some_time_ago(random)}


def restart_control_plane(random: Random, documents: list[Document]) -> None:
    topology(documents)["controlPlane"]["rollout"] = {"after": some_time_ago(random)}


def move_workers(random: Random, documents: list[Document]) -> None:
    for worker in workers(documents):
        worker["failureDomain"] = random.choice(["hill", "valley"])


def drop_health_check(_: Random, documents: list[Document]) -> None:
    workers_class(documents).pop("healthCheck", None)


MUTATIONS: list[Mutation] = [
    change_version,
    scale_workers,
    scale_control_plane,
    add_workers,
    drop_workers,
    change_variable,
    enable_patch,
    change_template_of_class,
    change_labels,
    change_strategy,
    restart_workers,
    restart_control_plane,
    move_workers,
    drop_health_check,
]


def the_one(documents: list[Document], kind: str, name: str = "") -> Document:
    return next(
        document
        for document in documents
        if document["kind"] == kind and name in ("", document["metadata"]["name"])
    )


def topology(documents: list[Document]) -> Any:
    return the_one(documents, "Cluster")["spec"]["topology"]


def workers(documents: list[Document]) -> Any:
    return topology(documents)["workers"].get("machineDeployments", [])


def workers_class(documents: list[Document]) -> Any:
    return the_one(documents, "ClusterClass")["spec"]["workers"]["machineDeployments"][0]


def changed(random: Random, documents: list[Document]) -> tuple[list[Document], list[str]]:
    """The documents with one to three changes, and what these are."""
    documents = deepcopy(documents)
    chosen = random.sample(MUTATIONS, random.randint(1, 3))
    for mutation in chosen:
        mutation(random, documents)
    return documents, [item.__name__ for item in chosen]


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_an_applied_change_matches_its_plan(seed: int) -> None:
    random, documents = Random(seed), sample()
    story: list[str] = []
    async with plane() as running:
        for _ in range(CHANGES):
            documents, what = changed(random, documents)
            story += what
            before = graph(running)
            plan = await plan_of(running, documents)
            assert graph(running) == before, "a plan changes nothing"
            assert plan.problems == {}, story
            await apply(running, documents)
            await asyncio.sleep(LONG)
            after = graph(running)
            assert plan.is_empty == (shown_all(before) == shown_all(after)), story
            expect_objects(plan, after, story)
            expect_machines(plan, before, after, story)
        assert (await plan_of(running, documents)).is_empty, story


def shown_all(objects: dict[Name, Document]) -> dict[Name, Document]:
    return {name: without_owners(compared_part(obj)) for name, obj in objects.items()}


def expect_objects(plan: Plan, after: dict[Name, Document], what: list[str]) -> None:
    """The topology's objects, and those that were applied, are as planned, field by field."""
    real = {name: compared_part(item) for name, item in after.items() if is_topologys(name, item)}
    messages = {
        name: compared_part(obj) for name, obj in plan.objects.items() if is_topologys(name, obj)
    }
    assert sorted(real) == sorted(messages), what
    for name, document in messages.items():
        assert without_owners(real[name]) == without_owners(document), (name, what)


def is_topologys(name: Name, document: Document) -> bool:
    labels = document["metadata"].get("labels") or {}
    made_by_others = ("Machine", "MachineSet", "KubeadmConfig", "DevMachine")
    return name.kind.kind not in made_by_others and (
        TOPOLOGY in labels or name.kind.kind in ("Cluster", "ClusterClass")
    )


def without_owners(document: Document) -> Document:
    """Owners are written by controllers that a plan does not run; replicas of autoscaled workers
    and endpoints are reported by providers."""
    metadata = {**document["metadata"]}
    metadata.pop("ownerReferences", None)
    annotations = {
        key: value
        for key, value in (metadata.pop("annotations", None) or {}).items()
        if not key.startswith(("machinedeployment.clusters.x-k8s.io/", "cluster.x-k8s.io/"))
    }
    spec = {**document.get("spec", {})}
    spec.pop("controlPlaneEndpoint", None)
    return {**document, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def expect_machines(
    plan: Plan, before: dict[Name, Document], after: dict[Name, Document], what: list[str]
) -> None:
    """Exactly the Machines go that the plan names, and as many are there as it says."""
    old = {name.key.name for name in before if name.kind == MACHINES}
    new = {name.key.name for name in after if name.kind == MACHINES}
    rollouts = [rollout for stage in plan.stages for rollout in stage.rollouts]
    leaving = {replace.name for rollout in rollouts for replace in rollout.replaces}
    leaving |= {name for rollout in rollouts for name in rollout.deletes}
    assert old - new == {name for name in leaving if PLANNED_NAME not in name}, what
    objects = [name for name in plan.objects if name.kind == MACHINES]
    assert len(new) == len(objects), what
