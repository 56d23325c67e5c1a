"""Parts of statuses that several workload controllers write."""

from __future__ import annotations

import json

from kapy.apiserver.controllers.workloads.workloads import Workloads
from kapy.kube import Document
from kapy.kube.generated_names import suffix


def hash_of(template: Document) -> str:
    """Return a hash of a Pod template."""
    return suffix(json.dumps(template, sort_keys=True), length=10)


def without_zeros(**numbers: int) -> Document:
    """Return the numbers other than 0, like Go's `omitempty`."""
    return {name: number for name, number in numbers.items() if number}


def set_conditions(
    here: Workloads, before: Document, **wanted: tuple[bool, str, str]
) -> list[Document]:
    """Return conditions (status, reason and message by type) with their transition times."""
    there = {condition["type"]: condition for condition in before.get("conditions") or ()}
    conditions = []
    for type_, (holds, reason, message) in wanted.items():
        result = {"type": type_, "status": "True" if holds else "False"}
        result |= {"reason": reason, "message": message}
        old_condition = there.get(type_, {})
        same = all(old_condition.get(key) == value for key, value in result.items())
        now = here.now()
        moved = (
            old_condition.get("lastTransitionTime")
            if old_condition.get("status") == result["status"]
            else now
        )
        conditions.append(
            old_condition
            if same
            else {**result, "lastUpdateTime": now, "lastTransitionTime": moved or now}
        )
    return conditions
