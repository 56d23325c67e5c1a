"""Prints a plan as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kapy.apps.plan.differences import Change, FieldChange, Verb
from kapy.apps.plan.outcome import Rollout
from kapy.apps.plan.planned import Plan, Stage
from kapy.apps.plan.snapshot import Name
from kapy.kube import Document

_SIGN: Final = {Verb.CREATE: "+", Verb.CHANGE: "~", Verb.DELETE: "-"}
_COLOR: Final = {"+": "\x1b[32m", "~": "\x1b[33m", "-": "\x1b[31m"}
_RESET: Final = "\x1b[0m"
MAX_STEPS: Final = 12
"""The number of shown steps of one rollout: the first and the last ones."""


def as_document(plan: Plan) -> Document:
    """Return the whole plan as JSON: {"stages": [{"changes", "rollouts"}], "underWay",
    "problems"}.
    """
    return {
        "kind": "Plan",
        "stages": [_stage(stage) for stage in plan.stages],
        "underWay": _stage(plan.ongoing),
        "problems": [
            {**_name_document(name), "message": message} for name, message in plan.problems.items()
        ],
        "summary": summary(plan),
    }


def summary(plan: Plan) -> Document:
    """Return the numbers of objects created, changed and deleted, and of Machines made and
    replaced."""
    changes = [change for stage in plan.stages for change in stage.changes]
    rollouts = [rollout for stage in plan.stages for rollout in stage.rollouts]
    return {
        **{verb.value: sum(change.verb is verb for change in changes) for verb in Verb},
        "machinesCreated": sum(rollout.creates for rollout in rollouts),
        "machinesReplaced": sum(len(rollout.replaces) for rollout in rollouts),
        "machinesDeleted": sum(len(rollout.deletes) for rollout in rollouts),
    }


def _stage(stage: Stage) -> Document:
    return {
        "changes": [_change(change) for change in stage.changes],
        "rollouts": [_rollout(rollout) for rollout in stage.rollouts],
    }


def _name_document(name: Name) -> Document:
    result = {"group": name.kind.group, "kind": name.kind.kind, "name": name.key.name}
    return result | ({"namespace": name.key.namespace} if name.key.namespace else {})


def _change(change: Change) -> Document:
    result = {
        "verb": change.verb.value,
        "apiVersion": change.api_version,
        **_name_document(change.name),
    }
    if change.replaces:
        result["replaces"] = change.replaces
    if change.fields:
        result["fields"] = [
            {
                "path": field.path,
                "before": field.before,
                "after": field.after,
                **({"because": list(field.causes)} if field.causes else {}),
            }
            for field in change.fields
        ]
    if change.verb is not Verb.DELETE:
        result["object"] = change.after
        if change.patches:
            result["patches"] = dict(change.patches)
    return result


def _rollout(rollout: Rollout) -> Document:
    result: Document = {
        **_name_document(rollout.name),
        "creates": rollout.creates,
        "replaces": [
            {"name": replace.name, "because": list(replace.reasons)} for replace in rollout.replaces
        ],
        "deletes": rollout.deletes,
        "steps": rollout.steps,
    }
    if rollout.waits_for_user:
        result["onDelete"] = True
    if rollout.by_provider:
        result["byProvider"] = True
    if rollout.in_place:
        result["mayBeUpdatedInPlaceBy"] = rollout.in_place
    return result


def as_text(plan: Plan, *, color: bool = False) -> str:
    """Return the plan as text for users."""
    return "\n".join(_Printer(color=color).lines(plan)) + "\n"


def as_summary(plan: Plan, *, color: bool = False) -> str:
    """Return a one-line summary of the plan, and its problems."""
    return "\n".join(_Printer(color=color).summary(plan)) + "\n"


_NOTHING: Final = "Nothing to do: everything is as it should be."


class _Printer:
    def __init__(self, *, color: bool) -> None:
        self._color = color

    def lines(self, plan: Plan) -> Iterator[str]:
        if not plan.ongoing.is_empty:
            yield "Under way already, whatever you apply:"
            yield from self._stage(plan.ongoing)
            yield ""
        if plan.is_empty and not plan.problems:
            yield _NOTHING
            return
        for number, stage in enumerate(plan.stages, start=1):
            if len(plan.stages) > 1:
                yield f"Stage {number}" if number == 1 else f"Stage {number}, when that is done"
            yield from self._stage(stage)
            yield ""
        yield from self._problems(plan)
        if plan.problems:
            yield ""
        yield _summary_line(plan)

    def summary(self, plan: Plan) -> Iterator[str]:
        yield from self._problems(plan)
        yield _NOTHING if plan.is_empty and not plan.problems else _summary_line(plan)

    def _problems(self, plan: Plan) -> Iterator[str]:
        for name, message in plan.problems.items():
            yield self._paint("-", f"! {name}: {message}")

    def _stage(self, stage: Stage) -> Iterator[str]:
        for change in stage.changes:
            yield from self._change(change)
        for rollout in stage.rollouts:
            yield from self._rollout(rollout)

    def _change(self, change: Change) -> Iterator[str]:
        sign = _SIGN[change.verb]
        instead = f", in place of {change.replaces}" if change.replaces else ""
        yield self._paint(sign, f"  {sign} {change.verb.value} {change.name}{instead}")
        for field in change.fields:
            yield from self._field(field)

    def _field(self, field_change: FieldChange) -> Iterator[str]:
        path = field_change.path.lstrip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
        because = f"   [{'; '.join(field_change.causes)}]" if field_change.causes else ""
        if field_change.before is None:
            yield self._paint("+", f"      + {path}: {_value_text(field_change.after)}") + because
        elif field_change.after is None:
            yield self._paint("-", f"      - {path}: {_value_text(field_change.before)}") + because
        else:
            before, after = _value_text(field_change.before), _value_text(field_change.after)
            yield self._paint("~", f"      ~ {path}: {before} → {after}") + because

    def _rollout(self, rollout: Rollout) -> Iterator[str]:
        if rollout.by_provider:
            yield f"  ↻ {rollout.name}: its provider replaces what has to be replaced"
            return
        yield f"  ↻ {rollout.name}: {_machines(rollout)}"
        for replace in rollout.replaces:
            yield f"      Machine {replace.name} is replaced: {'; '.join(replace.reasons)}"
        for name in rollout.deletes:
            yield f"      Machine {name} goes"
        if rollout.in_place:
            yield (
                f"      unless {' or '.join(rollout.in_place)} has them updated in place, which is "
                "asked when it begins (gate InPlaceUpdates)"
            )
        if rollout.waits_for_user:
            yield "      strategy OnDelete: each is replaced when somebody deletes it"
        yield from (f"      {line}" for line in _abridge(rollout.steps))

    def _paint(self, sign: str, text: str) -> str:
        return f"{_COLOR[sign]}{text}{_RESET}" if self._color else text


def _machines(rollout: Rollout) -> str:
    parts = []
    if rollout.replaces:
        parts.append(f"{len(rollout.replaces)} replaced")
    more = rollout.creates - len(rollout.replaces)
    if more > 0:
        parts.append(f"{more} more")
    if rollout.deletes:
        parts.append(f"{len(rollout.deletes)} fewer")
    return "Machines: " + (", ".join(parts) or "as many as before")


def _abridge(steps: list[str]) -> Iterator[str]:
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    if len(numbered) <= MAX_STEPS:
        yield from numbered
        return
    yield from numbered[: MAX_STEPS - 2]
    yield f"… {len(numbered) - MAX_STEPS + 1} steps like these …"
    yield numbered[-1]


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value if value and "\n" not in value else msgspec.json.encode(value).decode()
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST: Final = 160


def _summary_line(plan: Plan) -> str:
    result = summary(plan)
    return (
        f"Plan: {result['create']} to create, {result['change']} to change, "
        f"{result['delete']} to delete; Machines: {result['machinesCreated']} to create, "
        f"{result['machinesReplaced']} of them in place of others, "
        f"{result['machinesDeleted']} to delete."
    )
