"""Summarizes some conditions of the Machines for the control plane. Pure.

It is like an aggregate condition, but it names only problems and unknowns, and lists a Machine once
if all of its components report the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import Reason
from kapy.api.wording import shorten
from kapy.sdk import conditions


@dataclass(frozen=True, slots=True)
class Summary:
    """The definition of a summary condition. types: the types of the summarized conditions of
    Machines. target: the type of the summary condition. subject: the subject of its messages.
    """

    target: str
    types: tuple[str, ...]
    subject: str


def summarize(machines: Sequence[Machine], of: Summary, errors: Sequence[str]) -> Condition:
    """Return the condition of the control plane; `errors` are about it as a whole."""
    result: dict[str, list[str]] = {}
    bad = unknown = good = False
    for machine in machines:
        value = _reports(machine, of.types)
        # Without a provider ID the infrastructure does not exist yet, so nothing can be known.
        young = not machine.spec.provider_id
        bad = bad or any(condition.status == conditions.FALSE for condition in value)
        good = good or any(_is_no_issue(condition, young=young) for condition in value)
        lines = [
            _line(condition) for condition in value if not _is_no_issue(condition, young=young)
        ]
        unknown = unknown or any(
            condition.status == conditions.UNKNOWN and not young for condition in value
        )
        if lines:
            if len(value) > 1 and len({condition.message for condition in value}) == 1:
                lines = [f"  * Control plane components: {value[0].message}"]
            result.setdefault("\n".join(lines), []).append(machine.metadata.name)
    message = "\n".join([*_group_by_message(result), *(f"* {error}" for error in errors)])
    if bad or errors:
        return conditions.false(of.target, Reason.NOT_HEALTHY, message)
    if unknown:
        return conditions.unknown(of.target, Reason.HEALTH_UNKNOWN, message)
    if good:
        return conditions.true(of.target, Reason.HEALTHY)
    message = f"No Machines reporting {of.subject} status"
    return conditions.unknown(of.target, Reason.HEALTH_UNKNOWN, message)


def _reports(machine: Machine, types: Sequence[str]) -> list[Condition]:
    result = (conditions.get(machine.status.conditions, type_) for type_ in types)
    return [condition for condition in result if condition is not None]


def _is_no_issue(condition: Condition, *, young: bool) -> bool:
    return condition.status == conditions.TRUE or (young and condition.status == conditions.UNKNOWN)


def _line(condition: Condition) -> str:
    return f"  * {condition.type}: {condition.message or f'condition is {condition.status}'}"


def _group_by_message(value: dict[str, list[str]]) -> list[str]:
    """Return each message with the Machines that report it, the most frequent message first."""
    ranked = sorted(value.items(), key=lambda item: (-len(item[1]), ",".join(item[1])))
    return [f"* {_machine_names(names)}:\n{message}" for message, names in ranked]


def _machine_names(names: Sequence[str]) -> str:
    noun = "Machine" if len(names) == 1 else "Machines"
    return f"{noun} {shorten(sorted(names), 3)}"
