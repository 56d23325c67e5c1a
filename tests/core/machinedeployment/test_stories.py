"""Tests of a MachineDeployment's life, from creation to deletion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Label
from kapy.kube import Key
from kapy.kube.errors import ServerError
from kapy.kube.http import Request
from tests.core.environment import (
    CONFIG_TEMPLATES,
    CONFIGS,
    CONTROL_PLANES,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    VERSION,
    Environment,
    deployment,
    running_cluster,
    templates,
)

NEW = "v1.33.7"


def available(obj: MachineDeployment) -> bool:
    return any(
        condition.type == "Available" and condition.status == "True"
        for condition in obj.status.conditions
    )


async def started(plane: Environment, replicas: int, **spec: Any) -> MachineSet:
    """A MachineDeployment whose Machines are all there."""
    await running_cluster(plane)
    await plane.create(*templates(), deployment(replicas, **spec))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    (machine_set,) = await plane.story.all(MachineSet)
    machine_deployment = await plane.story.get(MachineDeployment, "md")
    assert machine_deployment is not None
    assert available(machine_deployment)
    return machine_set


async def sizes(plane: Environment) -> list[int]:
    """Replicas of all sets, from the oldest to the newest revision."""
    sets = await plane.story.all(MachineSet)
    sets = sorted(
        sets, key=lambda machine_set: int(machine_set.metadata.annotations[Annotation.REVISION])
    )
    return [machine_set.spec.replicas or 0 for machine_set in sets]


async def change_version(plane: Environment, version: str = NEW) -> None:
    patch = {"spec": {"template": {"spec": {"version": version}}}}
    await plane.story.merge(MachineDeployment, "md", patch)


async def complete(plane: Environment, rounds: int = 12) -> None:
    """Let new Machines boot and old ones go, until nothing is left to do."""
    for _ in range(rounds):
        await plane.settle(2)
        await plane.boot_all()
    await plane.settle()


async def versions(plane: Environment) -> Sequence[str]:
    return sorted(machine.spec.version for machine in await plane.story.all(Machine))


async def test_machines_are_made_of_the_templates(plane: Environment) -> None:
    machine_set = await started(plane, 2)

    machines = await plane.story.all(Machine)
    assert len(machines) == 2
    for machine in machines:
        name = machine.metadata.name
        assert machine.metadata.labels[Label.SET_NAME] == machine_set.metadata.name
        assert machine.metadata.labels[Label.DEPLOYMENT_NAME] == "md"
        assert machine.status.node_ref is not None
        assert machine.status.phase == "Running"
        infra = await plane.provider(INFRA_MACHINES, name)
        assert infra["spec"]["size"] == "small"
        assert [reference["kind"] for reference in infra["metadata"]["ownerReferences"]] == [
            "Machine"
        ]
        assert infra["metadata"]["annotations"][Annotation.CLONED_FROM_NAME] == "md"
        config = await plane.provider(CONFIGS, name)
        assert config["spec"]["words"] == "hello"
        assert config["metadata"]["labels"][Label.CLUSTER_NAME] == "c"
    for resource in (INFRA_TEMPLATES, CONFIG_TEMPLATES):
        owners = (await plane.provider(resource, "md"))["metadata"]["ownerReferences"]
        assert [owner["kind"] for owner in owners] == ["Cluster"]


async def test_a_deployment_scales_up_and_down(plane: Environment) -> None:
    await started(plane, 2)

    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 10}})
    await complete(plane, 3)
    machine_deployment = await plane.story.until(MachineDeployment, "md", available)
    assert machine_deployment.status.ready_replicas == 10

    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 1}})
    await plane.settle(30)
    assert len(await plane.story.all(Machine)) == 1
    assert await sizes(plane) == [1]
    assert len(await plane.all(INFRA_MACHINES)) == 1
    assert len(await plane.all(CONFIGS)) == 1


async def test_a_new_version_replaces_one_machine_at_a_time(plane: Environment) -> None:
    await started(plane, 3)
    counts = set()

    def watch(machine_sets: Sequence[MachineSet]) -> None:
        counts.add(sum(machine_set.status.replicas or 0 for machine_set in machine_sets))

    await change_version(plane)
    for _ in range(30):
        await plane.settle(1)
        watch(await plane.story.all(MachineSet))
        await plane.boot_all()
    await plane.settle()

    assert await versions(plane) == [NEW] * 3
    assert max(counts) == 4
    assert min(counts) == 3
    (last_set,) = await plane.story.all(MachineSet)
    assert last_set.metadata.annotations[Annotation.REVISION] == "2"
    machine_deployment = await plane.story.get(MachineDeployment, "md")
    assert machine_deployment is not None
    assert machine_deployment.metadata.annotations[Annotation.REVISION] == "2"
    assert machine_deployment.status.up_to_date_replicas == 3


async def test_a_broken_template_stops_the_rollout(plane: Environment) -> None:
    await started(plane, 3)

    await change_version(plane)
    await plane.settle(60)

    assert await sizes(plane) == [3, 1]
    machine_deployment = await plane.story.get(MachineDeployment, "md")
    assert machine_deployment is not None
    (rolling,) = [
        condition
        for condition in machine_deployment.status.conditions
        if condition.type == "RollingOut"
    ]
    assert rolling.status == "True"
    assert rolling.message == (
        f"Rolling out 3 not up-to-date replicas\n* Version {VERSION}, {NEW} required"
    )


async def test_a_rollback_reuses_the_old_set(plane: Environment) -> None:
    first = await started(plane, 2)

    await change_version(plane)
    await plane.settle()
    await change_version(plane, VERSION)
    await complete(plane)

    (machine_set,) = await plane.story.all(MachineSet)
    assert machine_set.metadata.name == first.metadata.name
    assert machine_set.metadata.annotations[Annotation.REVISION] == "3"
    assert machine_set.metadata.annotations[Annotation.REVISION_HISTORY] == "1"
    assert await versions(plane) == [VERSION] * 2


async def test_on_delete_waits_for_a_user(plane: Environment) -> None:
    await started(plane, 2, rollout={"strategy": {"type": "OnDelete"}})

    await change_version(plane)
    await plane.settle(30)
    assert await sizes(plane) == [2, 0]

    (first, _) = await plane.story.all(Machine)
    await plane.client.delete(Machine, first.key)
    await complete(plane, 3)
    assert await versions(plane) == [NEW, VERSION]
    assert await sizes(plane) == [1, 1]


async def test_a_paused_deployment_scales_in_proportion_but_does_not_roll_out(
    plane: Environment,
) -> None:
    await started(plane, 2)

    await plane.story.merge(MachineDeployment, "md", {"spec": {"paused": True}})
    await change_version(plane)
    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 3}})
    await complete(plane, 2)

    assert await sizes(plane) == [3]
    assert await versions(plane) == [VERSION] * 3


async def test_in_place_mutable_fields_reach_machines_without_a_rollout(plane: Environment) -> None:
    machine_set = await started(plane, 1)
    labels = {"node.cluster.x-k8s.io/pool": "fast", "extra": "yes"}
    spec = {"deletion": {"nodeDrainTimeoutSeconds": 7}}
    patch = {"spec": {"template": {"metadata": {"labels": labels}, "spec": spec}}}
    await plane.story.merge(MachineDeployment, "md", patch)
    await plane.settle()

    (remaining,) = await plane.story.all(MachineSet)
    assert remaining.metadata.uid == machine_set.metadata.uid
    (machine,) = await plane.story.all(Machine)
    assert machine.spec.deletion.node_drain_timeout_seconds == 7
    assert labels.items() <= machine.metadata.labels.items()
    infra = await plane.provider(INFRA_MACHINES, machine.metadata.name)
    assert labels.items() <= infra["metadata"]["labels"].items()

    patch = {"spec": {"template": {"metadata": {"labels": {"extra": None}}}}}
    await plane.story.merge(MachineDeployment, "md", patch)
    await plane.settle()
    (machine,) = await plane.story.all(Machine)
    infra = await plane.provider(INFRA_MACHINES, machine.metadata.name)
    assert "extra" not in machine.metadata.labels
    assert "extra" not in infra["metadata"]["labels"]
    assert infra["metadata"]["labels"]["node.cluster.x-k8s.io/pool"] == "fast"


async def test_rollout_after_replaces_machines_when_its_time_comes(plane: Environment) -> None:
    first = await started(plane, 1)
    after = "2026-01-01T00:10:00Z"
    await plane.story.merge(MachineDeployment, "md", {"spec": {"rollout": {"after": after}}})
    await plane.settle(60)
    assert [machine_set.metadata.uid for machine_set in await plane.story.all(MachineSet)] == [
        first.metadata.uid
    ]

    await plane.settle(600)
    await complete(plane)
    (last_set,) = await plane.story.all(MachineSet)
    assert last_set.metadata.uid != first.metadata.uid
    assert await versions(plane) == [VERSION]


async def test_a_template_that_comes_late_is_waited_for(plane: Environment) -> None:
    await running_cluster(plane)
    infra_template, config_template = templates()
    await plane.create(config_template, deployment(1))
    await plane.settle(20)
    machine_deployment = await plane.story.get(MachineDeployment, "md")
    assert machine_deployment is not None
    (scaling,) = [
        condition
        for condition in machine_deployment.status.conditions
        if condition.type == "ScalingUp"
    ]
    assert scaling.message == (
        "Scaling up from 0 to 1 replicas is blocked because FakeMachineTemplate does not exist"
    )
    assert not await plane.story.all(MachineSet)

    await plane.create(infra_template)
    await plane.settle(1)
    assert len(await plane.story.all(Machine)) == 1


async def test_deleting_a_deployment_deletes_its_sets_and_machines(plane: Environment) -> None:
    await started(plane, 2)
    await plane.client.delete(MachineDeployment, Key("default", "md"))
    await plane.settle(20)
    for kind in (MachineDeployment, MachineSet, Machine):
        assert not await plane.story.all(kind)
    assert not await plane.all(INFRA_MACHINES)
    assert not await plane.all(CONFIGS)


async def test_a_lost_answer_never_makes_a_second_machine(plane: Environment) -> None:
    await running_cluster(plane)
    lost = 0

    def lose(request: Request) -> bool:
        nonlocal lost
        is_created = any(
            f"/{kind}/" in request.path for kind in ("machines", "fakemachines", "machinesets")
        )
        if is_created and request.query.get("force") and lost < 9:
            lost += 1
            return True
        return False

    plane.controllers.lose = lose
    await plane.create(*templates(), deployment(3))
    await plane.settle(60)

    assert lost == 9
    assert len(await plane.story.all(MachineSet)) == 1
    machines = {machine.metadata.name for machine in await plane.story.all(Machine)}
    assert len(machines) == 3
    for resource in (INFRA_MACHINES, CONFIGS):
        assert {document["metadata"]["name"] for document in await plane.all(resource)} == machines


async def test_no_machine_is_newer_than_the_control_plane(plane: Environment) -> None:
    await started(plane, 1)
    await change_version(plane, "v1.35.0")
    await plane.settle()

    new = [
        machine_set
        for machine_set in await plane.story.all(MachineSet)
        if machine_set.spec.replicas == 1
    ]
    (blocked,) = [machine_set for machine_set in new if not machine_set.status.replicas]
    (scaling,) = [
        condition for condition in blocked.status.conditions if condition.type == "ScalingUp"
    ]
    assert scaling.message == (
        "Scaling up from 0 to 1 replicas is blocked because:\n"
        "* MachineSet version (1.35.0) and ControlPlane version (1.34.0) do not conform to the "
        "kubernetes version skew policy as MachineSet version is higher than ControlPlane "
        'version ("KubernetesVersionSkew" preflight check failed)'
    )

    key, wanted = Key("default", "c"), {"spec": {"version": "v1.35.0"}}
    await plane.client.patch(CONTROL_PLANES, key, wanted)
    await plane.report(
        CONTROL_PLANES, "c", version="v1.35.0", versions=[{"version": "v1.35.0", "replicas": 1}]
    )
    await complete(plane)
    assert await versions(plane) == ["v1.35.0"]


async def test_old_sets_stay_until_the_rollout_is_complete(plane: Environment) -> None:
    """An empty one is still what a person may want to go back to."""
    await started(plane, 2)
    await change_version(plane, "v1.33.6")  # whose Machines never come up
    await plane.settle(20)
    await change_version(plane)
    await plane.settle(60)
    assert await sizes(plane) == [2, 0, 1]

    await complete(plane)
    assert await sizes(plane) == [2]
    assert await versions(plane) == [NEW] * 2


async def test_a_paused_deployment_keeps_its_old_sets(plane: Environment) -> None:
    await started(plane, 1)
    (old,) = await plane.story.all(Machine)
    slow = {"metadata": {"finalizers": ["example.com/slow"]}}
    await plane.client.patch(INFRA_MACHINES, old.key, slow)
    await change_version(plane)
    await complete(plane, 4)
    await plane.story.merge(MachineDeployment, "md", {"spec": {"paused": True}})
    await plane.finish_deletions()
    await plane.settle(30)
    assert await versions(plane) == [NEW]
    assert await sizes(plane) == [0, 1]

    await plane.story.merge(MachineDeployment, "md", {"spec": {"paused": False}})
    await plane.settle()
    assert await sizes(plane) == [1]


async def test_a_deployment_gets_its_finalizer_before_it_creates_a_set(plane: Environment) -> None:
    """A deletion in between would leave the set behind."""
    await started(plane, 1)  # all kinds are watched from now on
    before = len(plane.controllers.writes)
    await plane.create(*templates("second"), deployment(1, "second"))
    await plane.settle()
    paths = [path for _, path in plane.controllers.writes[before:]]
    own = next(place for place, path in enumerate(paths) if "/machinedeployments/second" in path)
    number = next(place for place, path in enumerate(paths) if "/machinesets/" in path)
    assert own < number


async def test_a_deployment_stays_until_its_last_set_is_deleted(plane: Environment) -> None:
    await started(plane, 1)
    (machine,) = await plane.story.all(Machine)
    slow = {"metadata": {"finalizers": ["example.com/slow"]}}
    await plane.client.patch(INFRA_MACHINES, machine.key, slow)
    await plane.client.delete(MachineDeployment, Key("default", "md"))
    await plane.settle(30)
    machine_deployment = await plane.story.get(MachineDeployment, "md")
    assert machine_deployment is not None
    assert machine_deployment.deleting
    await plane.finish_deletions()
    await plane.settle()
    assert await plane.story.get(MachineDeployment, "md") is None


async def test_sets_of_another_deployment_are_left_alone(plane: Environment) -> None:
    """Also when its selector selects them."""
    mine = await started(plane, 1)
    other = deployment(1, "other")
    template = deployment(1)["spec"]["template"]
    other["spec"] |= {"template": template, "selector": {"matchLabels": {"shared": "yes"}}}
    template["metadata"] = {"labels": {"shared": "yes"}}
    labels = {"metadata": {"labels": {"shared": "yes"}}}
    await plane.story.merge(MachineSet, mine.metadata.name, labels)
    await plane.create(other)
    await plane.settle(30)
    owners = {
        machine_set.metadata.name: [owner.name for owner in machine_set.metadata.owner_references]
        for machine_set in await plane.story.all(MachineSet)
    }
    assert owners.pop(mine.metadata.name) == ["md"]
    assert list(owners.values()) == [["other"]]


async def test_a_retry_creates_the_set_under_the_same_name(plane: Environment) -> None:
    await running_cluster(plane)
    names: list[str] = []

    def refuse(request: Request) -> Exception | None:
        if "/machinesets/" not in request.path or "force" not in request.query:
            return None
        names.append(request.path.rpartition("/")[2])
        return ServerError("not now")

    plane.controllers.fault = refuse
    await plane.create(*templates(), deployment(1))
    await plane.settle(60)
    assert len(names) > 4
    assert len(set(names)) == 1
