"""Checks of the rules that all roles share, among them those about paused objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.testing.conformance.behaviour import (
    deletion,
    flags,
    lifecycle,
    limits,
    ownership,
    setup,
    template_changes,
)
from kapy.testing.conformance.behaviour.check import Check, Look
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes
from kapy.testing.conformance.rules import RULES

_PAUSED: Final = {Annotation.PAUSED: ""}


async def _pausing(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that nothing is done for an object that is paused itself or through its Cluster."""
    await setup.create_complete(fixture, annotations=_PAUSED)
    await fixture.settle()
    for finding in _violations(fixture, f"the annotation {Annotation.PAUSED} is set"):
        yield finding
    await fixture.patch({"metadata": {"annotations": {Annotation.PAUSED: None}}})
    held = setup.finalizers(await setup.wait_until_done(fixture))
    await setup.pause(fixture, paused=True)
    await fixture.settle()
    await fixture.delete()
    await fixture.settle()
    if held and await fixture.read() is None:
        yield fixture.finding(
            "",
            "the Cluster's spec.paused is true; it was deleted, and is gone",
            "leave what is paused alone, also when it is to be deleted",
        )
    await setup.pause(fixture, paused=False)


def _violations(fixture: Fixture, how: str) -> list[Finding]:
    wrong = setup.evidence_of_work(fixture, fixture.writes())
    if not wrong:
        return []
    remedy = "look for the annotation and for spec.paused of the Cluster before anything is made"
    return [fixture.finding("", f"{how}, and yet: {quote_writes(wrong)}", remedy)]


async def _paused_condition(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the condition Paused reports the pause."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    for paused in (True, False):
        await setup.pause(fixture, paused=paused)
        if await fixture.wait_for(_says(str(paused))) is None:
            result = _pause_error((await fixture.read()) or {}) or "not there"
            yield fixture.finding(
                "status.conditions[Paused]",
                f"spec.paused of the Cluster is {str(paused).lower()}, the condition is {result}",
                "set the condition Paused each time that the object is looked at",
            )
            return


def _says(wanted: str) -> Callable[[Document], bool]:
    return lambda value: _pause_error(value) == wanted


def _pause_error(document: Document) -> str:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next(
        (str(item.get("status")) for item in conditions if item.get("type") == "Paused"), ""
    )


_LOOKS: Final[dict[str, tuple[Look, int]]] = {
    "watch": (lifecycle.watch, 0),
    "owner": (lifecycle.owner, 0),
    "finalizer": (lifecycle.finalizer, 0),
    "restored": (lifecycle.restored, 0),
    "idle": (lifecycle.idle, 0),
    "initialized": (flags.initialized, 0),
    "deletion": (deletion.deletion, 0),
    "stopped": (deletion.stopped, 0),
    "pausing": (_pausing, 0),
    "paused-condition": (_paused_condition, 0),
    "owner-finalizers": (ownership.owner_finalizers, 0),
    "ssa-dry-run": (template_changes.ssa_dry_run, 0),
    "immutable": (template_changes.immutable, 0),
    "instances": (limits.instances, 1),
}
_MAKES: Final = {"stopped": 2, "instances": 3}


def checks(part: str) -> list[Check]:
    """Return the shared checks for which a role has rules."""
    return [
        Check(f"{part}/{name}", run, stage, objects_created=_MAKES.get(name, 1))
        for name, (run, stage) in _LOOKS.items()
        if f"{part}/{name}" in RULES
    ]
