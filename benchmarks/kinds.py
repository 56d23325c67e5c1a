"""The cost of defaulting, validating, converting and importing our kinds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measure import percentile

Row = dict[str, Any]
RUNS = 2000
STARTS = 10

CLASSES = Path(__file__).resolve().parents[1] / "tests" / "data" / "upstream" / "providers"

_IMPORT_ALL = "from kapy.api.kinds import KINDS\nfor kind in KINDS: kind.type_of()"


async def documents() -> list[Row]:
    """Decode, fill in, validate and encode; conversion there and back; importing every kind."""
    from kapy.api import convert
    from kapy.api.documents import default, validate
    from kapy.api.machine import Machine
    from kapy.kube.meta import read, to_document

    machine = _machine()
    older = convert(machine, "cluster.x-k8s.io/v1beta1", reference_version=lambda _: "g/v1beta2")

    def whole() -> None:
        filled = default(machine)
        validate(filled)
        to_document(read(filled, Machine))

    rows = [
        _timed("Machine: decode, default, validate, encode", whole),
        _timed("Machine: v1beta1 to v1beta2", lambda: convert(older, "cluster.x-k8s.io/v1beta2")),
        _timed(
            "Machine: v1beta2 to v1beta1",
            lambda: convert(
                machine, "cluster.x-k8s.io/v1beta1", reference_version=lambda _: "g/v1beta2"
            ),
        ),
    ]
    return [*rows, *_largest_class(), _imported()]


def _timed(step: str, work: Callable[[], object], runs: int = RUNS) -> Row:
    for _ in range(runs // 10):
        work()
    took = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    median = percentile(took, 0.5)
    return {"step": step, "wall_s": round(median, 7), "us": round(1e6 * median, 1)}


def _largest_class() -> list[Row]:
    """The largest ClusterClass of upstream's samples, where they are on this machine."""
    from kapy.api.documents import default, validate
    from kapy.api.kinds import BY_GROUP_KIND
    from kapy.kube.meta import read, to_document
    from kapy.kube.names import GroupKind

    kind = BY_GROUP_KIND.get(GroupKind("cluster.x-k8s.io", "ClusterClass"))
    results = [
        item
        for path in sorted(CLASSES.rglob("clusterclass-*.yaml"))
        for item in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)
        if item and item.get("kind") == "ClusterClass" and item["apiVersion"].endswith("v1beta2")
    ]
    if kind is None or not results:
        return []
    largest = max(results, key=lambda value: len(str(value)))

    def whole() -> None:
        filled = default(largest)
        validate(filled)
        to_document(read(filled, kind.type_of()))

    name = largest["metadata"]["name"]
    return [_timed(f"ClusterClass {name}: decode, default, validate, encode", whole, 100)]


def _imported() -> Row:
    """Importing every kind, beyond what the interpreter itself needs to start."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    took = {}
    for code in ("import kapy.kube.meta, kapy.api", _IMPORT_ALL):
        starts = []
        for _ in range(STARTS):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environ)
            starts.append(time.perf_counter() - began)
        took[code] = min(starts)
    base, everything = took.values()
    return {"step": "import of all kinds", "wall_s": round(everything - base, 4)}


def _machine() -> dict[str, Any]:
    """A Machine with everything a controller writes."""
    times = "2026-01-01T00:00:00Z"
    types = [
        *("Available", "Ready", "UpToDate", "BootstrapConfigReady", "InfrastructureReady"),
        *("NodeReady", "NodeHealthy", "Deleting", "Paused", "HealthCheckSucceeded"),
    ]
    group = "infrastructure.cluster.x-k8s.io"
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": "one",
            "namespace": "default",
            "uid": "6a7ad3a9-6d4b-4d1c-8d8e-0f5ff5a7d9b1",
            "resourceVersion": "1234",
            "generation": 3,
            "creationTimestamp": times,
            "labels": {"cluster.x-k8s.io/cluster-name": "c", "machine-template-hash": "1"},
            "finalizers": ["machine.cluster.x-k8s.io"],
        },
        "spec": {
            "clusterName": "c",
            "version": "v1.34.0",
            "providerID": "inmemory://one",
            "failureDomain": "a",
            "bootstrap": {
                "configRef": {
                    "apiGroup": "bootstrap.cluster.x-k8s.io",
                    "kind": "KubeadmConfig",
                    "name": "one",
                },
                "dataSecretName": "one",
            },
            "infrastructureRef": {"apiGroup": group, "kind": "DevMachine", "name": "one"},
            "deletion": {"nodeDrainTimeoutSeconds": 600, "nodeDeletionTimeoutSeconds": 10},
            "taints": [{"key": "a", "effect": "NoSchedule", "propagation": "Always"}],
        },
        "status": {
            "phase": "Running",
            "observedGeneration": 3,
            "nodeRef": {"name": "one"},
            "initialization": {"infrastructureProvisioned": True},
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "conditions": [
                {
                    "type": text,
                    "status": "True",
                    "reason": text,
                    "message": "",
                    "lastTransitionTime": times,
                }
                for text in types
            ],
        },
    }
