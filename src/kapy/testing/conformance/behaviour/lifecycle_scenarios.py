"""The lifecycle of one object per role for the fault tier: creation, completion, deletion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from kapy.kube import Document
from kapy.testing.conformance.behaviour import ipam, lifecycle, setup
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture
from kapy.testing.conformance.provider_under_test import Kind

Reached: TypeAlias = Callable[[Fixture], Awaitable[bool]]
Broken: TypeAlias = tuple[str, Finding]
"""A broken rule, and the finding about it."""


@dataclass(frozen=True)
class LifecycleScenario:
    """The lifecycle of one object that the fault tier checks. done, once, gone: the rules that are
    broken if the object is never complete, if something is created twice, or if something is left
    over.
    """

    done: str
    once: str
    gone: str
    begin: Callable[[Fixture], Awaitable[object]]
    is_reached: Reached
    end: Callable[[Fixture], Awaitable[None]]
    is_gone: Reached
    faults: Callable[[Fixture], list[Broken]]


def scenario_for(kind: Kind) -> LifecycleScenario | None:
    """Return the scenario for a kind, None if the kind has no role in a contract."""
    role = kind.role
    if role == ipam.PART:
        return _CLAIM
    if role not in setup.ROLE_SETUPS:
        return None
    removal = "provider-ids" if role == "infra-machinepool" else "deletion"
    return LifecycleScenario(
        f"{role}/initialized",
        f"{role}/once",
        f"{role}/{removal}",
        setup.create_complete,
        _is_done,
        _delete,
        _is_gone,
        _changes,
    )


async def _is_done(fixture: Fixture) -> bool:
    return await fixture.wait_for(lambda value: setup.is_done(fixture, value)) is not None


async def _delete(fixture: Fixture) -> None:
    await fixture.delete()


async def _is_gone(fixture: Fixture) -> bool:
    return await fixture.wait_until_gone()


def _changes(fixture: Fixture) -> list[Broken]:
    """Return findings about identities that must not change and did."""
    role = fixture.kind.role
    back = lifecycle.flag_was_unset(fixture, setup.flag(fixture))
    flagged = [(f"{role}/initialized", finding) for finding in back]
    return [*flagged, *((f"{role}/once", identity) for identity in _identities(fixture))]


_STAYS: Final = {
    "infra-machine": ("provider_id", "spec.providerID"),
    "bootstrap-config": ("data_secret_name", "status.dataSecretName"),
}


def _identities(fixture: Fixture) -> list[Finding]:
    if fixture.kind.role not in _STAYS:
        return []
    name, path = _STAYS[fixture.kind.role]
    text: dict[Document, None] = dict.fromkeys(
        value for state in fixture.states() if (value := setup.value(fixture, state, name))
    )
    if len(text) <= 1:
        return []
    evidence = f"it was {', then '.join(map(str, text))}"
    remedy = "find again what was made before anything is made: by a name that can be computed"
    return [fixture.finding(path, evidence, remedy)]


_CLAIM: Final = LifecycleScenario(
    f"{ipam.PART}/address-ref",
    f"{ipam.PART}/unique",
    f"{ipam.PART}/release",
    ipam.create_claim,
    ipam.wait_until_bound,
    ipam.delete_claim,
    ipam.wait_until_gone,
    lambda _: [],
)
