"""Topic `conversion`: objects in other versions, at the first level (equal as JSON values)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kapy.api.conversion import DATA, ConversionError, convert
from kapy.kube import Document
from kapy.kube.names import GroupKind
from tests.oracle.topic import Record, Result, compared, records, result_of

_FUZZED: Final[Mapping[GroupKind, str]] = {
    GroupKind(f"{group}.cluster.x-k8s.io", kind): f"{group}.cluster.x-k8s.io/{version}"
    for group, kind, version in (
        ("controlplane", "KubeadmControlPlane", "v1beta4"),
        ("controlplane", "AWSManagedControlPlane", "v1beta7"),
        ("infrastructure", "DockerCluster", "v1beta3"),
        ("infrastructure", "AWSCluster", "v1beta6"),
    )
}


def _realistic(kind: GroupKind) -> str:
    if not kind.group.endswith("cluster.x-k8s.io"):
        raise LookupError(f"which version of {kind} it means is not known")
    return f"{kind.group}/v1beta2"


def check(record: Record) -> Iterator[str]:
    """Yield the differences from a recorded conversion."""
    realistic = record["case"].startswith("realistic")
    original = json.loads(json.dumps(record["in"]))
    try:
        out = convert(
            record["in"],
            record["to"],
            reference_version=_realistic if realistic else _FUZZED.__getitem__,
        )
    except ConversionError as error:
        if "error" not in record:
            yield f"raised {error}"
        return
    if "error" in record:
        yield f"recorded is an error, {record['error']}"
        return
    yield from compared(_parsed(record["out"]), _parsed(out))
    yield from compared(original, record["in"], "the given object itself")


def _parsed(document: Document) -> Document:
    """The object with the JSON of its annotation parsed."""
    annotations = document.get("metadata", {}).get("annotations") or {}
    if DATA not in annotations:
        return document
    parsed = annotations | {DATA: json.loads(annotations[DATA])}
    return document | {"metadata": document["metadata"] | {"annotations": parsed}}


def play(folder: Path) -> Iterator[Result]:
    """Every recorded conversion below a folder."""
    for path in sorted(folder.rglob("*.jsonl*")):
        for number, record in enumerate(records(path)):
            stem = path.name.partition(".")[0]
            yield result_of(f"{stem}[{number}] {record['case']}", check, record)
