"""The life of an object of each part, for the fault tier: how it begins, is done, and ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from kapy.kube import Document
from kapy.testing.conformance.behaviour import flags, ipam, stage
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene
from kapy.testing.conformance.subject import Kind

Reached: TypeAlias = Callable[[Scene], Awaitable[bool]]
Broken: TypeAlias = tuple[str, Finding]
"""A rule, and where it is broken."""


@dataclass(frozen=True)
class Plot:
    """A life. done, once, gone: the rules that are broken where it is never done, where something
    is made twice, and where something is left."""

    done: str
    once: str
    gone: str
    begin: Callable[[Scene], Awaitable[object]]
    is_reached: Reached
    end: Callable[[Scene], Awaitable[None]]
    is_gone: Reached
    faults: Callable[[Scene], list[Broken]]


def plot_of(kind: Kind) -> Plot | None:
    """The life of a kind's objects; None where it is no part of a contract."""
    role = kind.role
    if role == ipam.PART:
        return _CLAIM
    if role not in stage.PARTS:
        return None
    gone = "provider-ids" if role == "infra-machinepool" else "deletion"
    return Plot(
        f"{role}/initialized",
        f"{role}/once",
        f"{role}/{gone}",
        stage.whole,
        _is_done,
        _delete,
        _is_gone,
        _changes,
    )


async def _is_done(scene: Scene) -> bool:
    return await scene.reached(lambda one: stage.is_done(scene, one)) is not None


async def _delete(scene: Scene) -> None:
    await scene.delete()


async def _is_gone(scene: Scene) -> bool:
    return await scene.gone()


def _changes(scene: Scene) -> list[Broken]:
    """What has to stay as it is, and did not."""
    role = scene.kind.role
    back = flags.taken_back(scene, stage.flag(scene))
    flagged = [(f"{role}/initialized", one) for one in back]
    return [*flagged, *((f"{role}/once", one) for one in _identities(scene))]


_STAYS: Final = {
    "infra-machine": ("provider_id", "spec.providerID"),
    "bootstrap-config": ("data_secret_name", "status.dataSecretName"),
}


def _identities(scene: Scene) -> list[Finding]:
    if scene.kind.role not in _STAYS:
        return []
    name, path = _STAYS[scene.kind.role]
    told: dict[Document, None] = dict.fromkeys(
        one for state in scene.states() if (one := stage.value(scene, state, name))
    )
    if len(told) <= 1:
        return []
    evidence = f"it was {', then '.join(map(str, told))}"
    mend = "find again what was made before anything is made: by a name that can be computed"
    return [scene.fault(path, evidence, mend)]


_CLAIM: Final = Plot(
    f"{ipam.PART}/address-ref",
    f"{ipam.PART}/unique",
    f"{ipam.PART}/release",
    ipam.claimed,
    ipam.is_answered,
    ipam.end,
    ipam.is_gone,
    lambda _: [],
)
