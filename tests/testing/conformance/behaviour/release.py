"""The release of the provider that is written by hand, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.testing.provider_bench import permissive
from tests.testing.conformance.behaviour.plain import GROUP, RESOURCES, TEMPLATES

LABEL: Final = "infrastructure-plain"
FOLDER: Final = f"{LABEL}/v1.0.0"


def write(folder: Path) -> Path:
    """Returns the folder of the release."""
    place = folder / FOLDER
    place.mkdir(parents=True)
    for name, objects in files().items():
        (place / name).write_text("\n---\n".join(map(json.dumps, objects)))
    return place


def files() -> dict[str, list[Document]]:
    series = {"major": 1, "minor": 0, "contract": "v1beta2"}
    metadata = {"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata"}
    resources = [*RESOURCES.values(), *TEMPLATES.values()]
    return {
        "metadata.yaml": [{**metadata, "releaseSeries": [series]}],
        "infrastructure-components.yaml": list(map(crd, resources)),
        "cluster-template.yaml": template(),
    }


def crd(resource: Resource) -> Document:
    document = permissive(resource)
    labels = {"cluster.x-k8s.io/v1beta2": "v1", "cluster.x-k8s.io/provider": LABEL}
    document["metadata"] |= {"labels": labels}
    return document


def template() -> list[Document]:
    name = {"name": "${CLUSTER_NAME}", "namespace": "${NAMESPACE}"}
    spec = {"size": "${SIZE}"}
    machine = {"template": {"spec": spec}}
    kinds = {"PlainCluster": spec, "PlainMachineTemplate": machine, "PlainMachinePool": spec}
    core = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": name}
    own = [
        {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": name, "spec": spec}
        for kind, spec in kinds.items()
    ]
    return [core, *own]
