"""Pauses, resumes and restarts rollouts: the commands of `clusterctl alpha rollout`.

A MachineDeployment is paused by `spec.paused`, a KubeadmControlPlane by its annotation; a restart
sets `spec.rollout.after` to the current time. Upstream: `cmd/clusterctl/client/alpha`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation
from kapy.api.times import moment, stamp
from kapy.client.client import Client
from kapy.clusterctl.errors import ClusterctlError
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError

_KINDS: Final[Mapping[str, type[MachineDeployment | KubeadmControlPlane]]] = {
    "machinedeployment": MachineDeployment,
    "kubeadmcontrolplane": KubeadmControlPlane,
}


class RolloutError(ClusterctlError):
    """An object cannot be paused, resumed or restarted; the message gives the reason."""


@dataclass(frozen=True)
class Target:
    """An object with rollouts, by its resource word (`machinedeployment`) and name."""

    word: str
    name: str

    def __str__(self) -> str:
        return f"{self.word}/{self.name}"

    @property
    def kind(self) -> type[MachineDeployment | KubeadmControlPlane]:
        return _KINDS[self.word]


Act = Callable[[Client, str, Target], Awaitable[None]]


def targets(arguments: Sequence[str]) -> list[Target]:
    """Return the objects named by `machinedeployment/NAME` and `kubeadmcontrolplane/NAME`. Raises
    RolloutError.
    """
    if not arguments:
        raise RolloutError("required resource not specified")
    if not any("/" in argument for argument in arguments):
        raise RolloutError(
            "arguments must be in resource/name format (e.g. machinedeployment/md-1)"
        )
    return [_target(argument.lower()) for argument in arguments]


def _target(argument: str) -> Target:
    word, slash, name = argument.partition("/")
    if not slash:
        raise RolloutError(
            f'there is no need for a resource type as an argument of its own: "{argument}" beside '
            "arguments in resource/name form"
        )
    if "/" in name:
        raise RolloutError("arguments in resource/name form may not have more than one slash")
    if not word or not name:
        raise RolloutError("arguments in resource/name form must have a single resource and name")
    if word not in _KINDS:
        raise RolloutError(f'invalid resource type "{word}", valid values are [{" ".join(_KINDS)}]')
    return Target(word, name)


async def pause(client: Client, namespace: str, target: Target) -> None:
    """Pause the rollouts of an object. Raises RolloutError if it is paused already, ApiError."""
    if _is_paused(target, await _read(client, namespace, target)):
        raise RolloutError(f"{target.kind.__name__} is already paused: {target}")
    await _patch(client, namespace, target, _pause_patch(target, paused=True))


async def resume(client: Client, namespace: str, target: Target) -> None:
    """Resume the rollouts of an object. Raises RolloutError if it is not paused, ApiError."""
    if not _is_paused(target, await _read(client, namespace, target)):
        raise RolloutError(f"{target.kind.__name__} is not currently paused: {target}")
    await _patch(client, namespace, target, _pause_patch(target, paused=False))


def restart(now: datetime) -> Act:
    """Return a call that replaces all Machines of the target. It raises RolloutError if the target
    is paused or a restart is scheduled already, ApiError.
    """

    async def act(client: Client, namespace: str, target: Target) -> None:
        document = await _read(client, namespace, target)
        kind = target.kind.__name__
        if _is_paused(target, document):
            raise RolloutError(f"can't restart paused {kind} ({_REMEDY[target.word]}): {target}")
        after = (document["spec"].get("rollout") or {}).get("after")
        if after and moment(after) > now:
            raise RolloutError(f"can't update {kind} (remove 'spec.rollout.after' first): {target}")
        await _patch(client, namespace, target, {"spec": {"rollout": {"after": stamp(now)}}})

    return act


_REMEDY: Final = {
    "machinedeployment": "run rollout resume first",
    "kubeadmcontrolplane": f"remove annotation '{Annotation.PAUSED}' first",
}


def _is_paused(target: Target, document: Document) -> bool:
    if target.kind is MachineDeployment:
        return bool(document["spec"].get("paused"))
    return Annotation.PAUSED in (document["metadata"].get("annotations") or {})


def _pause_patch(target: Target, *, paused: bool) -> Document:
    if target.kind is MachineDeployment:
        return {"spec": {"paused": paused}}
    value: Any = "true" if paused else None
    return {"metadata": {"annotations": {Annotation.PAUSED: value}}}


async def _read(client: Client, namespace: str, target: Target) -> Document:
    try:
        return await client.get(target.kind.RESOURCE, Key(namespace, target.name))
    except ApiError as error:
        raise RolloutError(
            f"failed to fetch {target}: failed to get {target.kind.__name__} "
            f"{namespace}/{target.name}: {error}"
        ) from None


async def _patch(client: Client, namespace: str, target: Target, patch: Document) -> None:
    await client.patch(target.kind.RESOURCE, Key(namespace, target.name), patch)
