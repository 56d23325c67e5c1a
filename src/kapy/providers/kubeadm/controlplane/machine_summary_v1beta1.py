"""Summarize conditions of the Machines for the control plane in v1beta1 (pure functions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy._aio.dataclass import dataclass
from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.providers.kubeadm.controlplane.scope import v1beta1_conditions_of
from kapy.sdk import conditions, v1beta1

_WORDS: Final = {
    (conditions.FALSE, v1beta1.ERROR): "{} errors",
    (conditions.FALSE, v1beta1.WARNING): "{} warnings",
    (conditions.FALSE, v1beta1.INFO): "{} info",
    (conditions.TRUE, ""): "",
    (conditions.UNKNOWN, ""): "unknown {} status",
}
"""Message templates by status and severity of the Machines' conditions, the worst first."""


@dataclass(frozen=True, slots=True)
class SummaryV1Beta1:
    """The definition of a summary condition. types: the conditions of the Machines. target: the
    summary. subject: for messages."""

    target: str
    types: tuple[str, ...]
    subject: str
    unhealthy: str
    unknown: str


def summarize_v1beta1(
    machines: Sequence[Machine], of: SummaryV1Beta1, errors: Sequence[str]
) -> V1Beta1Condition | None:
    """Return the summary condition; None if no Machine reports one of its conditions.

    It has the worst status and severity of any Machine, and the names of all Machines that report
    them. errors: problems of the control plane as a whole.
    """
    result = _messages(machines, of.types)
    status, severity = next((word for word in _WORDS if word in result), ("", ""))
    message = ""
    if names := result.get((status, severity)):
        words = _WORDS[(status, severity)].format(of.subject)
        message = f"Following Machines are reporting {words}: {', '.join(sorted(names))}"
    if errors:
        own = [message] if severity == v1beta1.ERROR else []
        return v1beta1.false(of.target, of.unhealthy, v1beta1.ERROR, "; ".join([*errors, *own]))
    if status == conditions.FALSE:
        return v1beta1.false(of.target, of.unhealthy, severity, message)
    if status == conditions.TRUE:
        return v1beta1.true(of.target)
    return v1beta1.unknown(of.target, of.unknown, message) if status else None


def _messages(machines: Sequence[Machine], types: Sequence[str]) -> dict[tuple[str, str], set[str]]:
    """Status and severity, with the names of the Machines that report them."""
    messages: dict[tuple[str, str], set[str]] = {}
    for machine in machines:
        for condition in v1beta1_conditions_of(machine):
            if condition.type in types:
                messages.setdefault((condition.status, condition.severity), set()).add(
                    machine.metadata.name
                )
    return messages
