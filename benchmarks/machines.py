"""The objects that benchmarks of the API server work with."""

from __future__ import annotations

from typing import Final

from kapy.api.machine import Machine
from kapy.kube import Document

MACHINES: Final = Machine.RESOURCE
API_VERSION: Final = MACHINES.api_version
PATH: Final = f"/apis/{API_VERSION}/namespaces/default/{MACHINES.plural}"


def machine(number: int) -> Document:
    """A Machine of about 0.9 KB as controllers create it."""
    name = f"machine-{number:05}"
    return {
        "apiVersion": API_VERSION,
        "kind": MACHINES.kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": "herd", "pool": f"p{number % 10}"},
            "annotations": {"example.com/note": "x" * 380},
            "finalizers": ["example.com/keep"],
        },
        "spec": {
            "clusterName": "herd",
            "version": "v1.34.0",
            "bootstrap": {"dataSecretName": name},
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "DevMachine",
                "name": name,
            },
        },
    }
