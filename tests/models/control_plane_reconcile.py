"""One reconcile of the model's control plane, with the real steps of kapy."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast
from unittest import mock

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Reason
from kapy.api.names import ConditionType as T
from kapy.client.client import Client
from kapy.engine.draft import Draft
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.providers.kubeadm.controlplane import etcd_members
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies, ReconcileCache
from kapy.providers.kubeadm.controlplane.etcd import Member as EtcdMember
from kapy.providers.kubeadm.controlplane.etcd_health import observe_etcd
from kapy.providers.kubeadm.controlplane.loop import KubeadmLoop
from kapy.providers.kubeadm.controlplane.remediation import remediate
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, EtcdState
from kapy.providers.kubeadm.controlplane.uptodate import Outdated
from kapy.sdk import Result, conditions
from kapy.sdk.machine_control_plane import Step
from tests.models.control_plane_state import State, has_quorum
from tests.providers.kubeadm.building import machine, plane

SINCE: Final = "2026-01-01T00:00:00Z"


class Effect(NamedTuple):
    """The first effect of a reconcile. number: that of the Machine or the member."""

    kind: str
    number: int = 0

    @property
    def text(self) -> str:
        return f"{self.kind} {self.number}"


class _Happened(Exception):
    """A reconcile does something: the rest of it does not matter."""

    def __init__(self, effect: Effect) -> None:
        self.effect = effect


class _Loop(KubeadmLoop):
    """The loop with the steps that decide."""

    def steps(self) -> Sequence[Step]:
        return (
            self._step(etcd_members.remove_unowned_members),
            self.release_deleting,
            self._step(remediate),
            self.scale,
        )

    async def prepare_rollout(self) -> None:
        """Nothing is to be prepared."""

    async def create_machine(self, *, first: bool) -> None:
        raise _Happened(Effect("create"))


def reconcile(state: State, desired: int) -> Effect | None:
    """Return the first effect of a reconcile of kapy in a state; None for none."""
    result = _observed(state, desired)
    marked = Annotation.REMEDIATION_IN_PROGRESS in result.kcp.metadata.annotations
    loop = _Loop(_dependencies(result), result)
    with _patched(state):
        try:
            _run(loop.run())
        except _Happened as happened:
            return happened.effect
        except KapyError:
            pass  # kapy reports it, and tries again
    if marked and Annotation.REMEDIATION_IN_PROGRESS not in result.kcp.metadata.annotations:
        return Effect("unmark")
    return None


def _run(work: Coroutine[Any, Any, Result | None]) -> None:
    """Run a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("the step waits for something")


@contextmanager
def _patched(state: State) -> Iterator[None]:
    async def remove(_: object, cluster: Key, member: EtcdMember, nodes: object) -> None:
        raise _Happened(Effect("remove member", member.id - 1))

    async def move(*_: object) -> None:
        return

    async def save(_: object) -> bool:
        return False

    with (
        mock.patch.object(etcd_members, "remove_member", remove),
        mock.patch.object(etcd_members, "move_leader", move),
        mock.patch.object(Draft, "save", save),
    ):
        yield


def _dependencies(value: ControlPlane) -> Dependencies:
    async def delete(_: object, key: Key, **__: object) -> None:
        number = int(key.name)
        sick = any(item.metadata.name == key.name and _is_sick(item) for item in value.machines)
        raise _Happened(Effect("remediate" if sick else "delete", number))

    async def patch(_: object, key: Key, __: Document) -> None:
        raise _Happened(Effect("release", int(key.name)))

    nobody: Callable[..., None] = lambda *_: None  # noqa: E731
    client = cast(Client, SimpleNamespace(delete=delete, patch=patch))
    informer = SimpleNamespace(list=lambda: list((value.nodes or {}).values()))
    return cast(
        Dependencies,
        SimpleNamespace(
            runtime=SimpleNamespace(client=client),
            remote=SimpleNamespace(informer=lambda *_: informer),
            recorder=SimpleNamespace(warning=nobody, normal=nobody),
            cache=ReconcileCache(),
            updates=None,
        ),
    )


def _is_sick(item: Machine) -> bool:
    return conditions.is_false(item.status.conditions, T.HEALTH_CHECK_SUCCEEDED)


def _observed(state: State, desired: int) -> ControlPlane:
    """Return the objects that a reconcile reads in a state."""
    result = plane(
        *(_machine(state, number) for number in range(len(state.nodes))),
        spec={"replicas": desired, "remediation": {}},
        status={"initialization": {"controlPlaneInitialized": True}},
    )
    result.set(conditions.true(T.CERTIFICATES_AVAILABLE, "Available"))
    if state.remediating:
        # It is later than the creation of every Machine that is there.
        mark = '{"machine":"x","timestamp":"2026-01-01T00:00:00Z","retryCount":0}'
        result.kcp.metadata.annotations[Annotation.REMEDIATION_IN_PROGRESS] = mark
    for number, node in enumerate(state.nodes):
        if node.outdated:
            result.outdated[str(number)] = Outdated(("it is old",))
    listed = [(number, item) for number, item in enumerate(state.nodes) if item.known]
    result.nodes = {str(number): _node(number, ready=item.up) for number, item in listed}
    _observe_etcd(result, state)
    return result


def _observe_etcd(value: ControlPlane, state: State) -> None:
    staying = ("starting", "running")
    request = [n for n, node in enumerate(state.nodes) if node.known and node.phase in staying]
    if (
        not request
        or not has_quorum(state)
        or not any(state.nodes[number].up for number in request)
    ):
        observe_etcd(value, EtcdState(failure="Failed to connect to etcd"))
        return
    members = []
    own = [(number, node.member) for number, node in enumerate(state.nodes)]
    strays = [(len(own) + number, stray) for number, stray in enumerate(state.strays)]
    for number, kind in (*own, *strays):
        if kind not in ("none", "removed"):
            name = "" if kind == "joining" else str(number)
            members.append(EtcdMember(number + 1, name, kind in ("joining", "learner")))
    leader = next((member for member in members if not member.is_learner and member.name), None)
    observe_etcd(value, EtcdState(members=members, leader=leader))
    for item in value.machines:
        number = int(item.metadata.name)
        if not state.nodes[number].up and not item.deleting:
            bad = conditions.false(T.ETCD_MEMBER_HEALTHY, "NotHealthy", "it does not run")
            value.set_on(item, bad)


def _machine(state: State, number: int) -> Document:
    node = state.nodes[number]
    deleting = node.phase in ("deleting", "hooked", "going")
    metadata: Document = {"annotations": {Annotation.KCP_CLEANUP_HOOK: ""} if node.hook else {}}
    if deleting:
        metadata["deletionTimestamp"] = SINCE
    if node.remediates:
        said = '{"machine":"x","timestamp":"2025-12-01T00:00:00Z","retryCount":0}'
        metadata["annotations"][Annotation.REMEDIATION_FOR] = said
    age = 3600.0 - number
    document = machine(str(number), healthy=False, node=node.known, age=age, **metadata)
    reported = document["status"]["conditions"]
    components = "True" if node.up and node.member == "voter" and not deleting else "False"
    if node.known:
        reported += [_said(type_, components) for type_ in _COMPONENTS]
    if deleting:
        hooked = node.phase == "hooked"
        reason = Reason.WAITING_FOR_PRE_TERMINATE_HOOK if hooked else "DrainingNode"
        reported.append(_said(T.DELETING, "True", reason))
    if node.sick:
        reported += [_said(T.HEALTH_CHECK_SUCCEEDED, "False"), _said(T.OWNER_REMEDIATED, "False")]
    return document


_COMPONENTS: Final = tuple(components_of(plane()).values())


def _said(type_: str, status: str, reason: str = "Because") -> Document:
    said = {"type": type_, "status": status, "reason": reason, "message": ""}
    return {**said, "lastTransitionTime": SINCE}


def _node(number: int, *, ready: bool) -> Document:
    status = "True" if ready else "Unknown"
    return {
        "metadata": {"name": str(number), "creationTimestamp": SINCE},
        "spec": {"providerID": f"fake://{number}"},
        "status": {"conditions": [{"type": "Ready", "status": status}]},
    }
