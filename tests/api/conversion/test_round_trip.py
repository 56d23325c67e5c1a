"""There and back again, an object says what it said: any kind, any older version, any object.

A few things are lost, as upstream loses them. They are named here, and nothing else may differ.
`KAPY_EXAMPLES` says how many objects are tried (8), and then they are others each time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.api.conversion import DATA, convert
from kapy.api.conversion.wire import normalize
from kapy.api.kinds import KINDS, STORED, Kind
from kapy.kube import Document
from kapy.kube.names import GroupKind
from tests.api.conversion.objects import made

EXAMPLES: Final = int(os.environ.get("KAPY_EXAMPLES", "8"))
TRIED: Final = settings(max_examples=EXAMPLES)
SPOKES: Final = [
    pytest.param(kind, version, id=f"{kind.name}-{version}")
    for kind in KINDS
    for version in kind.older
]

GONE: Final = (
    # Fields that v1beta2 has no more.
    r"\.spec\.topology\.rolloutAfter",
    r".*\.variables(\.overrides)?\[\]\.definitionFrom",
    r"\.spec\.(progressDeadlineSeconds|revisionHistoryLimit)",
    r".*\.(cluster|init|join)Configuration\.(apiVersion|kind)",
    r".*\.clusterConfiguration\.(clusterName|kubernetesVersion)",
    r".*\.clusterConfiguration\.networking\.(dnsDomain|podSubnet|serviceSubnet)",
    r".*\.useExperimentalRetryJoin",
    # A Node's reference is its name, and whether a control plane is ready its condition.
    r"\.status\.nodeRef\.(apiVersion|kind|namespace)",
    r"\.status\.ready",
    # A strategy always has a type then.
    r".*\.rolloutStrategy\.type",
    # A reference to nothing gets its namespace.
    r"\.spec\.(infrastructure|controlPlane)\.ref\.namespace",
)
"""Fields whose value or absence in v1beta1 cannot be expressed in v1beta2."""

MADE_UP: Final = (
    # Numbers and flags that v1beta1 always writes.
    r"\.status\.(replicas|deprecated(\..*)?)",
    r".*\.failureDomains\[\]\.controlPlane",
    r".*\.partitions\[\]\.layout",
    # Of a MachineSet, 0 is none.
    r"\.spec\.template\.spec\.minReadySeconds",
    # One timeout that serves `kubeadm init` and `kubeadm join`.
    r".*\.joinConfiguration\.timeouts\.controlPlaneComponentHealthCheckSeconds",
)
"""Fields for which only v1beta2 distinguishes absent from zero."""


@pytest.mark.parametrize(("kind", "version"), SPOKES)
@TRIED
@given(seed=st.integers(min_value=0))
def test_stored_objects_survive_a_round_trip_through_older_versions(
    kind: Kind, version: str, seed: int
) -> None:
    stored = made(kind.type_of(), Random(seed))
    back = converted(converted(stored, kind, version), kind, STORED)
    assert list(unlike(canonical(stored, kind, STORED), back, MADE_UP)) == []


@pytest.mark.parametrize(("kind", "version"), SPOKES)
@TRIED
@given(seed=st.integers(min_value=0))
def test_objects_of_older_versions_survive_storage(kind: Kind, version: str, seed: int) -> None:
    old = made(kind.type_of(version), Random(seed))
    back = converted(converted(old, kind, STORED), kind, version)
    before = canonical(old, kind, version)
    assert list(unlike(without_zeros(before), without_zeros(back), GONE)) == []


def converted(document: Document, kind: Kind, version: str) -> Document:
    return convert(document, f"{kind.group}/{version}", reference_version=version_of)


def version_of(kind: GroupKind) -> str:
    return f"{kind.group}/v1beta2"


def canonical(document: Document, kind: Kind, version: str) -> Document:
    """The object as a Go program writes it."""
    head = {key: document[key] for key in ("apiVersion", "kind", "metadata")}
    return head | normalize(document, kind.type_of(version))


def without_zeros(node: Any) -> Any:
    """v1beta1 makes no difference between zero, nothing and a part with nothing in it."""
    if isinstance(node, dict):
        results = {key: without_zeros(value) for key, value in node.items()}
        return {key: value for key, value in results.items() if value not in ZEROS}
    return [without_zeros(item) for item in node] if isinstance(node, list) else node


ZEROS: Final[Sequence[Any]] = ({}, [], "", 0, "0s", None)


def unlike(before: Any, after: Any, expected_paths: Sequence[str], path: str = "") -> Iterator[str]:
    """The paths at which two documents differ, but for known ones."""
    if _are_parts(before, after):
        before, after = before or {}, after or {}
        for key in {**before, **after}:
            if f"{path}.{key}" != ".metadata":
                yield from unlike(before.get(key), after.get(key), expected_paths, f"{path}.{key}")
        if not path:
            yield from unlike(told(before), told(after), expected_paths, ".metadata")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for item, other in zip(before, after, strict=True):
            yield from unlike(item, other, expected_paths, f"{path}[]")
    elif before != after and not any(re.fullmatch(text, path) for text in expected_paths):
        yield f"{path}: {before!r}, then {after!r}"


def _are_parts(before: Any, after: Any) -> bool:
    """Whether both are objects, or one is and the other is absent."""
    both = (before, after)
    return any(isinstance(item, dict) for item in both) and all(
        item is None or isinstance(item, dict) for item in both
    )


def told(document: Document) -> Document:
    """The metadata without what conversion remembers."""
    metadata: Document = document["metadata"]
    annotations = {
        key: annotation
        for key, annotation in metadata.get("annotations", {}).items()
        if key != DATA
    }
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return others | ({"annotations": annotations} if annotations else {})
