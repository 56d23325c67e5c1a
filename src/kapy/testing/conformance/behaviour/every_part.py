"""Checks of the rules that all roles share."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import (
    deletion,
    flags,
    lifecycle,
    limits,
    ownership,
    pausing,
    template_changes,
)
from kapy.testing.conformance.behaviour.check import Check, Look
from kapy.testing.conformance.rules import RULES

_LOOKS: Final[dict[str, tuple[Look, int]]] = {
    "watch": (lifecycle.watch, 0),
    "owner": (lifecycle.owner, 0),
    "finalizer": (lifecycle.finalizer, 0),
    "restored": (lifecycle.restored, 0),
    "idle": (lifecycle.idle, 0),
    "initialized": (flags.initialized, 0),
    "deletion": (deletion.deletion, 0),
    "stopped": (deletion.stopped, 0),
    "pausing": (pausing.pausing, 0),
    "paused-condition": (pausing.paused_condition, 0),
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
