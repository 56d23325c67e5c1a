"""Machines that extensions update in place: workers that stay, and what comes in between."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest

from kapy.api.dev_machine import DevMachine
from kapy.api.extension_config import ExtensionConfig
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, Label
from kapy.apiserver.server import Server
from kapy.apps.all_in_one import CONTROLLERS
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, Settings
from kapy.client.intercept import Interceptor
from kapy.conditions import get, is_true, message_of
from kapy.engine.options import ManagerOptions
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.meta import Object
from kapy.kube.model import encode
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import STEP, Story
from tests.hooks.extension import Extension, Network, config
from tests.stories.plane import own_kinds, sample
from tests.stories.test_extensions import discovered, running_with

GATES: Final = replace(EMBEDDED_GATES, runtime_sdk=True, in_place_updates=True)
OPEN: Final = Settings(controllers=ControllerConfig(manager=ManagerOptions(gates=GATES)))
CLOSED: Final = Settings(
    controllers=ControllerConfig(
        manager=ManagerOptions(gates=replace(GATES, in_place_updates=False))
    )
)
WORKERS, CONTROL_PLANE = "capybara-md-0", "capybara-control-plane"
MARKS: Final = (
    Annotation.UPDATE_IN_PROGRESS,
    Annotation.PENDING_ACKNOWLEDGE_MOVE,
    Annotation.ACKNOWLEDGED_MOVE,
    Annotation.MOVE_MACHINES_TO_MACHINE_SET,
    Annotation.RECEIVE_MACHINES_FROM_MACHINE_SETS,
    Annotation.PENDING_HOOKS,
)


def replacing(path: str, value: Any) -> Document:
    patch = [{"op": "replace", "path": path, "value": value}]
    encoded = base64.b64encode(msgspec.json.encode(patch)).decode()
    return {"patchType": "JSONPatch", "patch": encoded}


def everything(request: Document) -> Document:
    """All of a change is made in place."""
    patches = {}
    for field, wanted in request["desired"].items():
        if "template" in wanted["spec"]:
            spec = wanted["spec"]["template"]["spec"]
            patches[f"{field}Patch"] = replacing("/spec/template/spec", spec)
        else:
            patches[f"{field}Patch"] = replacing("/spec", wanted["spec"])
    return patches


class Updater(Extension):
    """Updates whatever it is asked to: a Machine is done when it was asked `turns` times more."""

    def __init__(self, turns: int = 1) -> None:
        super().__init__(
            machine=("CanUpdateMachine", everything),
            machineset=("CanUpdateMachineSet", everything),
            update=("UpdateMachine", self._update),
        )
        self.turns = turns
        self.updated: dict[str, int] = {}

    def _update(self, request: Document) -> Document:
        name = request["desired"]["machine"]["metadata"]["name"]
        self.updated[name] = self.updated.get(name, -1) + 1
        if self.updated[name] < self.turns:
            return {"retryAfterSeconds": 5, "message": "on it"}
        return {}


@asynccontextmanager
async def herd(
    updater: Extension, *, replicas: int = 3, surge: int = 0, settings: Settings = OPEN
) -> AsyncIterator[Story]:
    """A cluster of one control plane machine and some workers, all there, and an extension."""
    async with running_with(Network(ext=updater), settings) as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([config("ext")])
        await discovered(story, "ext")
        await story.create([*with_workers(sample(), replicas, surge)])
        await story.until(MachineDeployment, WORKERS, is_complete)
        yield story


def with_workers(documents: list[Document], replicas: int, surge: int) -> Iterator[Document]:
    for document in documents:
        if document["kind"] == "MachineDeployment":
            limits = {"maxSurge": surge, "maxUnavailable": 1 - surge}
            strategy = {"type": "RollingUpdate", "rollingUpdate": limits}
            document["spec"] |= {"replicas": replicas, "rollout": {"strategy": strategy}}
        yield document


def is_complete(deployment: MachineDeployment) -> bool:
    status, wanted = deployment.status, deployment.spec.replicas
    counts = (status.replicas, status.available_replicas, status.up_to_date_replicas)
    return status.observed_generation == deployment.metadata.generation and set(counts) == {wanted}


async def change(story: Story, name: str = "second") -> None:
    """Have the workers made of another template, in another failure domain."""
    (template,) = [
        document
        for document in sample()
        if document["kind"] == "DevMachineTemplate" and document["metadata"]["name"] == WORKERS
    ]
    template["metadata"]["name"] = name
    inner = template["spec"]["template"]["spec"]["backend"]["inMemory"]["node"]
    inner["provisioning"]["startupDuration"] = "1s"
    await story.create([template])
    spec = {"failureDomain": f"zone-{name}", "infrastructureRef": {"name": name}}
    await story.merge(MachineDeployment, WORKERS, {"spec": {"template": {"spec": spec}}})


async def workers(story: Story) -> list[Machine]:
    machines = await story.all(Machine)
    return [machine for machine in machines if Label.CONTROL_PLANE not in machine.metadata.labels]


async def identities(story: Story) -> set[str]:
    return {worker.metadata.uid for worker in await workers(story)}


async def marked(story: Story) -> list[str]:
    """Objects that still say that something is under way."""
    kinds: tuple[type[Object], ...] = (Machine, MachineSet, DevMachine, KubeadmConfig)
    return [
        f"{kind.__name__} {item.metadata.name} {mark}"
        for kind in kinds
        for item in await story.all(kind)
        for mark in MARKS
        if mark in item.metadata.annotations
    ]


async def watched(story: Story) -> list[int]:
    """Return the number of workers under update at each step, until the rollout is complete."""
    counts = []
    while True:
        await asyncio.sleep(STEP)
        counts.append(sum(map(is_updating_in_place, await workers(story))))
        deployment = await story.get(MachineDeployment, WORKERS)
        assert deployment is not None
        wanted = deployment.spec.template.spec.infrastructure_ref
        sets = [
            machine_set
            for machine_set in await story.all(MachineSet)
            if machine_set.status.replicas
        ]
        changed = all(
            machine_set.spec.template.spec.infrastructure_ref == wanted for machine_set in sets
        )
        if changed and not counts[-1] and is_complete(deployment):
            return counts


async def test_workers_stay_while_they_are_changed_one_by_one() -> None:
    updater = Updater()
    async with herd(updater) as story:
        before = await identities(story)
        await change(story)
        assert max(await watched(story)) == 1
        await story.settle()
        assert await identities(story) == before
        assert await marked(story) == []
        (machine_set,) = await story.all(MachineSet)
        unique = machine_set.metadata.labels[Label.MACHINE_TEMPLATE_HASH]
        for machine in await workers(story):
            assert machine.spec.failure_domain == "zone-second"
            assert machine.metadata.labels[Label.MACHINE_TEMPLATE_HASH] == unique
            assert machine.metadata.owner_references[0].uid == machine_set.metadata.uid
            dev_machine = await story.get(DevMachine, machine.spec.infrastructure_ref.name)
            assert dev_machine is not None
            assert dev_machine.metadata.annotations[Annotation.CLONED_FROM_NAME] == "second"
            assert dev_machine.spec.provider_id
            node = encode(dev_machine.spec)["backend"]["inMemory"]["node"]
            assert node["provisioning"]["startupDuration"] == "1s"
            assert dev_machine.metadata.labels[Label.MACHINE_TEMPLATE_HASH] == unique
        calls = updater.calls()
        assert (calls.count("machineset"), calls.count("update")) == (1, 6)


async def test_without_max_unavailable_a_new_machine_makes_room() -> None:
    updater = Updater(turns=0)
    async with herd(updater, surge=1) as story:
        before = await identities(story)
        await change(story)
        await watched(story)
        after = await identities(story)
        assert (len(after), len(after & before)) == (3, 2)
        assert len(updater.updated) == 2


async def a_worker(story: Story, says: str) -> Machine:
    """A worker whose Updating condition says something."""
    messages: list[str] = []
    for _ in range(12_000):
        for machine in await workers(story):
            messages.append(message_of(machine.status.conditions, "Updating"))
            if says in messages[-1]:
                return machine
        await asyncio.sleep(STEP)
    raise AssertionError(messages[-2:])


async def rolling_out(story: Story, says: str) -> None:
    """The workers' rollout says something."""
    await story.until(
        MachineDeployment,
        WORKERS,
        lambda deployment: says in message_of(deployment.status.conditions, "RollingOut"),
    )


async def test_an_extension_that_fails_and_comes_back_loses_no_machine() -> None:
    """It cannot be asked at first, then it fails, then it goes away in the middle."""
    updater = Updater(turns=2)
    async with herd(updater, replicas=2) as story:
        before = await identities(story)
        updater.down = "dial tcp 10.0.0.1:443: connect: connection refused"
        await change(story)
        await rolling_out(
            story, 'can be updated in-place: failed to call extension handler "machineset.ext"'
        )
        await story.settle(120)
        assert await identities(story) == before
        assert not [worker for worker in await workers(story) if is_updating_in_place(worker)]
        failing = updater.handlers["update"]
        updater.handlers["update"] = (
            "UpdateMachine",
            {"status": "Failure", "message": "disk full"},
        )
        updater.down = ""
        failed = await a_worker(story, 'call extension handler "update.ext": got failure response')
        condition = get(failed.status.conditions, "Updating")
        assert condition is not None
        assert condition.reason == "InPlaceUpdateFailed"
        assert "disk full" in condition.message
        updater.handlers["update"] = failing
        on_it = await a_worker(story, "In-place update in progress: on it")
        assert on_it.status.phase == "Updating"
        assert is_true(on_it.status.conditions, "NodeHealthy")
        assert not is_true(on_it.status.conditions, "Ready")
        await story.client.delete(ExtensionConfig, Key("", "ext"))
        await a_worker(story, "no extensions registered for UpdateMachine hook")
        await story.settle(600)
        await story.create([config("ext")])
        back = asyncio.get_running_loop().time()
        await story.until(MachineDeployment, WORKERS, is_complete, within=60)
        assert asyncio.get_running_loop().time() - back < 60
        assert await identities(story) == before
        assert await marked(story) == []


async def test_a_machine_that_is_being_updated_can_be_replaced() -> None:
    """Its update never ends, so a person deletes the Machine; the other one is updated."""
    updater = Updater(turns=1_000_000)
    async with herd(updater, replicas=2) as story:
        before = await identities(story)
        await change(story)
        stuck = await a_worker(story, "on it")
        await story.client.delete(Machine, stuck.key)
        await story.until_gone(Machine, stuck.metadata.name)
        updater.turns = 0
        await watched(story)
        assert len(await identities(story) & before) == 1
        await story.settle()
        assert await marked(story) == []


async def test_changes_that_an_extension_does_not_cover_cause_a_replacement() -> None:
    """It leaves a field over; then there are two of them, of which nobody knows who does what."""
    updater = Updater()
    updater.handlers["machineset"] = (
        "CanUpdateMachineSet",
        lambda value: everything(value) | {"infrastructureMachineTemplatePatch": None},
    )
    second = Updater()
    async with running_with(Network(ext=updater, two=second), OPEN) as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([config("ext")])
        await discovered(story, "ext")
        await story.create([*with_workers(sample(), 2, 0)])
        await story.until(MachineDeployment, WORKERS, is_complete)
        before = await identities(story)
        await change(story)
        await watched(story)
        assert not await identities(story) & before
        assert "update" not in updater.calls()
        await story.create([config("two")])
        await discovered(story, "two")
        await change(story, "third")
        await rolling_out(
            story, "found multiple CanUpdateMachineSet hooks (machineset.ext,machineset.two)"
        )


async def test_a_feature_gate_that_is_disabled_during_an_update_is_reported() -> None:
    """A Machine is left as it was when the gate was closed; it says so, and can be replaced."""
    updater = Updater()
    async with herd(updater, replicas=1, settings=CLOSED) as story:
        (machine,) = await workers(story)
        annotations = {Annotation.UPDATE_IN_PROGRESS: "", Annotation.PENDING_HOOKS: "UpdateMachine"}
        await story.merge(
            Machine, machine.metadata.name, {"metadata": {"annotations": annotations}}
        )
        await a_worker(story, "feature gate InPlaceUpdates is off")
        await change(story)
        await watched(story)
        assert machine.metadata.uid not in await identities(story)
        assert updater.calls() == []


class FailingOnce(Interceptor):
    """Each kind of write to an object fails once: before it reaches the server, or once it is done.

    Writes of one kind have the same object, field manager and `MARKS` among their annotations.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.armed = False
        self.failed: set[tuple[object, ...]] = set()

    async def __call__(self, request: Request) -> Reply:
        kind = self._kind(request)
        if not self.armed or kind is None or kind in self.failed:
            return await super().__call__(request)
        self.failed.add(kind)
        if len(self.failed) % 2:
            raise Unreachable("the request was lost")
        await super().__call__(request)
        raise Unreachable("the answer was lost")

    def _kind(self, request: Request) -> tuple[object, ...] | None:
        body = request.body
        if request.method not in ("POST", "PATCH", "DELETE") or not isinstance(body, dict):
            return None
        if "dryRun" in request.query or "events" in request.path:
            return None
        annotations = sorted((body.get("metadata") or {}).get("annotations") or ())
        marks = [annotation for annotation in annotations if annotation in MARKS]
        manager = request.query.get("fieldManager")
        return request.method, request.path, manager, *marks, "spec" in body, "status" in body


async def test_updates_complete_despite_a_failed_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three control plane Machines and two workers; all that is known comes from the server."""
    failing: list[FailingOnce] = []
    original = Server.transport

    def transport(server: Server, user: Any) -> Transport:
        result = original(server, user)
        if user is not CONTROLLERS:
            return result
        failing.append(FailingOnce(result))
        return failing[-1]

    monkeypatch.setattr(Server, "transport", transport)
    updater = Updater()
    async with herd(updater, replicas=2) as story:
        spec: Document = {
            "replicas": 3,
            "rollout": {"strategy": {"rollingUpdate": {"maxSurge": 0}}},
        }
        await story.merge(KubeadmControlPlane, CONTROL_PLANE, {"spec": spec})
        await story.until(KubeadmControlPlane, CONTROL_PLANE, is_renewed(3))
        before = {machine.metadata.uid for machine in await story.all(Machine)}
        failing[0].armed = True
        await change(story)
        files = [{"path": "/etc/herd", "content": "meadow"}]
        patch = {"spec": {"kubeadmConfigSpec": {"files": files}}}
        await story.merge(KubeadmControlPlane, CONTROL_PLANE, patch)
        await watched(story)
        await story.until(KubeadmControlPlane, CONTROL_PLANE, is_renewed(3))
        await story.settle()
        assert {machine.metadata.uid for machine in await story.all(Machine)} == before
        assert await marked(story) == []
        assert len(updater.updated) == 5
        assert len(failing[0].failed) > 50


def is_renewed(replicas: int) -> Callable[[KubeadmControlPlane], bool]:
    def holds(control_plane: KubeadmControlPlane) -> bool:
        status = control_plane.status
        counts = (status.replicas, status.ready_replicas, status.up_to_date_replicas)
        return status.observed_generation == control_plane.metadata.generation and set(counts) == {
            replicas
        }

    return holds
