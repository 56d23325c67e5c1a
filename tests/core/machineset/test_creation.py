"""Machines that cannot be made: why is told, nothing is left behind, and nobody spins."""

from __future__ import annotations

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.conditions.lookup import get
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, ServerError
from kapy.kube.http import Request
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from tests.core.environment import (
    CONFIG_TEMPLATES,
    CONFIGS,
    INFRA_MACHINES,
    Environment,
    deployment,
    of,
    running_cluster,
    templates,
)


async def scaling_up(plane: Environment) -> tuple[Condition, V1Beta1Condition]:
    """Return the MachineSet's conditions ScalingUp and, for v1beta1, MachinesCreated."""
    (machine_set,) = await plane.story.all(MachineSet)
    condition = get(machine_set.status.conditions, "ScalingUp")
    deprecated = machine_set.status.deprecated
    assert condition is not None
    assert deprecated is not None
    assert deprecated.v1beta1 is not None
    (old,) = [
        beta1_condition
        for beta1_condition in deprecated.v1beta1.conditions
        if beta1_condition.type == "MachinesCreated"
    ]
    return condition, old


class Refusal:
    """Refuses what is applied of one resource, as a webhook of its provider does.

    names: of what, in order.
    """

    def __init__(self, plane: Environment, plural: str, error: type[Exception]) -> None:
        self._part, self._error = f"/{plural}/", error
        self.on, self.names = True, list[str]()
        plane.controllers.fault = self.fault

    def fault(self, request: Request) -> Exception | None:
        if not self.on or self._part not in request.path or "force" not in request.query:
            return None
        name = request.path.rpartition("/")[2]
        self.names.append(name)
        return self._error(f'admission webhook "x" denied {name}: too big')


async def test_a_refused_infrastructure_is_reported_and_leaves_nothing_behind(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    refusal = Refusal(plane, "fakemachines", Forbidden)
    await plane.create(*templates(), deployment(1))
    await plane.settle(60)

    (machine_set,) = await plane.story.all(MachineSet)
    name = machine_set.metadata.name
    why = f'admission webhook "x" denied {name}-…: too big'
    condition, old = await scaling_up(plane)
    assert condition.message == (
        f"Scaling up from 0 to 1 replicas is blocked because:\n"
        f"* FakeMachine cannot be created: {why}"
    )
    assert (old.status, old.reason, old.severity, old.message) == (
        "False",
        "InfrastructureTemplateCloningFailed",
        "Error",
        why,
    )
    assert not await plane.all(CONFIGS)
    assert len(refusal.names) < 20  # with back-off, although the status is written

    refusal.on = False
    await plane.settle(120)
    (machine,) = await plane.story.all(Machine)
    for resource in (CONFIGS, INFRA_MACHINES):
        (clone,) = await plane.all(resource)
        assert clone["metadata"]["name"] == machine.metadata.name
    condition, old = await scaling_up(plane)
    assert (condition.status, old.status) == ("False", "True")


async def test_a_failed_request_is_retried_under_the_same_name(plane: Environment) -> None:
    await running_cluster(plane)
    failure = Refusal(plane, "machines", ServerError)
    await plane.create(*templates(), deployment(1))
    await plane.settle(20)
    (config,) = await plane.all(CONFIGS)
    _, old = await scaling_up(plane)
    assert old.reason == "MachineCreationFailed"
    failure.on = False
    await plane.settle(60)
    (machine,) = await plane.story.all(Machine)
    assert machine.metadata.name == config["metadata"]["name"]


async def test_unused_clones_are_deleted(plane: Environment) -> None:
    await running_cluster(plane)
    Refusal(plane, "machines", ServerError)
    await plane.create(*templates(), deployment(1))
    await plane.settle(20)
    assert len(await plane.all(CONFIGS)) == 1
    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 0}})
    await plane.settle(30)
    assert not await plane.all(CONFIGS)
    assert not await plane.all(INFRA_MACHINES)


async def test_a_name_is_not_used_again(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    names = set[str]()
    for count in range(1, 5):
        await plane.settle(30)
        (machine,) = await plane.story.all(Machine)
        names.add(machine.metadata.name)
        assert len(names) == count
        await plane.client.delete(Machine, machine.key)


async def test_only_the_known_state_of_a_clone_is_deleted(plane: Environment) -> None:
    """A Machine that another leader made may have taken it over meanwhile."""
    await running_cluster(plane)
    failure = Refusal(plane, "machines", ServerError)
    await plane.create(*templates(), deployment(1))
    await plane.settle(20)
    (config,) = await plane.all(CONFIGS)
    conditions = list[Document]()

    def note(request: Request) -> Exception | None:
        if request.method == "DELETE" and "/fakeconfigs/" in request.path:
            assert isinstance(request.body, dict)
            conditions.append(request.body["preconditions"])
        return failure.fault(request)

    plane.controllers.fault = note
    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 0}})
    await plane.settle(30)
    names = ("uid", "resourceVersion")
    assert conditions == [{name: config["metadata"][name] for name in names}]


async def test_a_late_clone_is_deleted_although_the_set_is_idle(plane: Environment) -> None:
    """A request may be processed after its deadline, when another Machine is there."""
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    await plane.settle(60)
    (machine_set,) = await plane.story.all(MachineSet)
    (config,) = await plane.all(CONFIGS)
    owners = [encode(owner_reference(machine_set))]
    metadata = {"name": "late", "namespace": "default", "ownerReferences": owners}
    late = {**config, "metadata": {**metadata, "labels": config["metadata"]["labels"]}}
    await plane.create({name: part for name, part in late.items() if name != "status"})
    await plane.settle(5)
    assert [config["metadata"]["name"] for config in await plane.all(CONFIGS)] == [
        config["metadata"]["name"]
    ]


async def test_a_machine_with_a_lost_clone_does_not_delay_the_others(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(2))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    first, second = await plane.story.all(Machine)
    await plane.client.delete(CONFIGS, first.key)
    patch = {"spec": {"template": {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 7}}}}}
    await plane.story.merge(MachineDeployment, "md", patch)
    await plane.settle()
    machine = await plane.client.get(Machine, second.key)
    assert machine.spec.deletion.node_drain_timeout_seconds == 7


async def test_preflight_checks_are_left_out_by_the_bootstrap_template_too(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    skip = {"machineset.cluster.x-k8s.io/skip-preflight-checks": "KubernetesVersionSkew"}
    await plane.create(*templates())
    newer = deployment(1)
    newer["spec"]["template"]["spec"]["version"] = "v1.35.0"
    await plane.create(newer)
    await plane.settle()
    _, old = await scaling_up(plane)
    assert old.reason == "PreflightCheckFailed"
    assert not await plane.story.all(Machine)

    patch = {"metadata": {"annotations": skip}}
    await plane.client.patch(CONFIG_TEMPLATES, Key("default", "md"), patch)
    await plane.settle(1)
    assert len(await plane.story.all(Machine)) == 1


async def test_a_retry_uses_the_names_of_the_attempt_before(plane: Environment) -> None:
    """Whether or not the clones of that attempt are known yet: an answer may have been lost."""
    await running_cluster(plane)
    failure = Refusal(plane, "fakeconfigs", ServerError)
    await plane.create(*templates(), deployment(2))
    await plane.settle(60)
    # The first failure is written to the status; nothing of the MachineSet changes after that.
    names = failure.names[2:]
    assert len(names) > 4
    assert len(set(names)) == 1


async def test_clones_of_others_are_neither_used_nor_deleted(plane: Environment) -> None:
    await running_cluster(plane)
    foreign = await foreign_owner(plane)
    for resource in (CONFIGS, INFRA_MACHINES):
        clone = of(resource, "a-foreign-one", spec={})
        clone["metadata"]["ownerReferences"] = [foreign]
        await plane.create(clone)
    await plane.create(*templates(), deployment(1))
    await plane.settle(30)
    (machine,) = await plane.story.all(Machine)
    assert machine.metadata.name != "a-foreign-one"
    for resource in (CONFIGS, INFRA_MACHINES):
        document = await plane.provider(resource, "a-foreign-one")
        assert document["metadata"]["ownerReferences"] == [foreign]


async def test_a_refused_machine_leaves_the_objects_of_others(plane: Environment) -> None:
    await running_cluster(plane)
    failure = Refusal(plane, "fakeconfigs", ServerError)
    await plane.create(*templates(), deployment(1))
    await plane.settle(60)
    name = failure.names[-1]
    clone = of(CONFIGS, name, spec={})
    clone["metadata"]["ownerReferences"] = [await foreign_owner(plane)]
    await plane.create(clone)

    refusal = Refusal(plane, "fakeconfigs", Forbidden)
    await plane.settle(60)
    assert refusal.names[0] == name
    assert await plane.provider(CONFIGS, name)


async def test_clones_that_a_machine_has_not_taken_over_yet_stay(plane: Environment) -> None:
    await running_cluster(plane)

    def refuse_the_machine(request: Request) -> Exception | None:
        theirs = "/fakeconfigs/" in request.path or "/fakemachines/" in request.path
        if theirs and request.method == "PATCH" and "force" not in request.query:
            return ServerError("not now")
        return None

    plane.controllers.fault = refuse_the_machine
    await plane.create(*templates(), deployment(1))
    await plane.settle(30)
    (machine,) = await plane.story.all(Machine)
    for resource in (CONFIGS, INFRA_MACHINES):
        clone = await plane.provider(resource, machine.metadata.name)
        assert [reference["kind"] for reference in clone["metadata"]["ownerReferences"]] == [
            "MachineSet"
        ]


async def foreign_owner(plane: Environment) -> Document:
    """A MachineSet that is none of ours, and does nothing."""
    another = deployment(0, "another")
    another["kind"] = "MachineSet"
    another["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    await plane.create(another)
    document = await plane.client.get(MachineSet.RESOURCE, Key("default", "another"))
    names = {name: document[name] for name in ("apiVersion", "kind")}
    return {**names, **{name: document["metadata"][name] for name in ("name", "uid")}}
