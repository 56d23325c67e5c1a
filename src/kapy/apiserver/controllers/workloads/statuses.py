"""Parts of statuses that several workload controllers write."""

from __future__ import annotations

import json

from kapy.apiserver.controllers.workloads.workloads import Workloads
from kapy.kube import Document
from kapy.kube.generated_names import suffix


def hash_of(template: Document) -> str:
    """Characters that differ where templates do."""
    return suffix(json.dumps(template, sort_keys=True), length=10)


def present(**numbers: int) -> Document:
    """The numbers that are not 0, as Go's `omitempty` leaves the others out."""
    return {name: number for name, number in numbers.items() if number}


def conditions(
    here: Workloads, before: Document, **wanted: tuple[bool, str, str]
) -> list[Document]:
    """Conditions (whether each holds, its reason and its message), with the times of changes."""
    there = {one["type"]: one for one in before.get("conditions") or ()}
    found = []
    for type_, (holds, reason, message) in wanted.items():
        said = {"type": type_, "status": "True" if holds else "False"}
        said |= {"reason": reason, "message": message}
        known = there.get(type_, {})
        same = all(known.get(key) == value for key, value in said.items())
        now = here.now()
        moved = known.get("lastTransitionTime") if known.get("status") == said["status"] else now
        found.append(
            known if same else {**said, "lastUpdateTime": now, "lastTransitionTime": moved or now}
        )
    return found
