"""A cluster of `managed`'s class with patches, and extensions that answer what they are told."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from kapy.api.cluster import Cluster
from kapy.kube import Document
from kapy.topology.blueprint import Blueprint
from kapy.topology.patches import Cause, ExternalPatches, apply_patches
from kapy.topology.state import ClusterState
from tests.topology.managed import blueprint, cluster, made

INFRASTRUCTURE = {
    "apiVersion": "infra.io/v1",
    "kind": "ThingClusterTemplate",
    "matchResources": {"infrastructureCluster": True},
}
PLANE = {
    "apiVersion": "plane.io/v1",
    "kind": "ThingPlaneTemplate",
    "matchResources": {"controlPlane": True},
}
MACHINES = {
    "apiVersion": "infra.io/v1",
    "kind": "ThingMachineTemplate",
    "matchResources": {
        "controlPlane": True,
        "machineDeploymentClass": {"names": ["small"]},
    },
}
POOLS = {
    "apiVersion": "infra.io/v1",
    "kind": "ThingPoolTemplate",
    "matchResources": {"machinePoolClass": {"names": ["po*"]}},
}


def patch(name: str, selector: Document, *changes: Document, **more: Any) -> Document:
    """An inline patch with one definition."""
    return {
        "name": name,
        "definitions": [{"selector": selector, "jsonPatches": list(changes)}],
        **more,
    }


def add(path: str, value: Any = None, **source: str) -> Document:
    """A change; source: `variable` or `template`."""
    where = {"op": "add", "path": f"/spec/template/{path}"}
    return {**where, "valueFrom": source} if source else {**where, "value": value}


def of_class(*patches: Document, variables: Mapping[str, str] | None = None) -> Document:
    """A change of the class: its patches, and its variables with where they are defined."""
    return {
        "spec": {"patches": list(patches)},
        "status": {
            "variables": [
                {
                    "name": name,
                    "definitions": [
                        {"from": origin, "required": False, "schema": {"openAPIV3Schema": {}}}
                    ],
                }
                for name, origin in (variables or {}).items()
            ]
        },
    }


def values(**by_name: Any) -> list[Document]:
    """Variables of a topology."""
    return [{"name": name, "value": value} for name, value in by_name.items()]


async def result(
    class_change: Document,
    change: Document | None = None,
    external: ExternalPatches | None = None,
    causes: list[Cause] | None = None,
    *,
    state: ClusterState | None = None,
    of: Blueprint | None = None,
) -> ClusterState:
    """The desired state of a cluster, which the patches of its class have changed."""
    wanted = cluster(change)
    cluster_state = state if state is not None else await made(change)
    await apply_patches(
        of or blueprint(wanted, class_change), cluster_state, external=external, causes=causes
    )
    return cluster_state


class Extensions:
    """Answers requests by the template's kind; keeps what it was asked."""

    def __init__(
        self, answer: Callable[[Document], Document | list[Document] | None] | None = None
    ) -> None:
        """answer: the JSON patch (a list) or merge patch (an object) for an item of a request."""
        self.generated: list[Document] = []
        self.validated: list[Document] = []
        self._answer = answer or (lambda _: None)

    async def generate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        self.generated.append({"extension": extension, **request})
        answers = [(item["uid"], self._answer(item)) for item in request["items"]]
        return {"items": [response(uid, item) for uid, item in answers if item is not None]}

    async def validate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        self.validated.append({"extension": extension, **request})
        return {"status": "Success"}


def response(uid: str, patch: Any) -> Document:
    """One item of a response, as it travels."""
    kind = "JSONPatch" if isinstance(patch, list) else "JSONMergePatch"
    text = base64.b64encode(json.dumps(patch).encode()).decode()
    return {"uid": uid, "patchType": kind, "patch": text}


def external(name: str, **more: Any) -> Document:
    """A patch that an extension makes."""
    return {"name": name, "external": {"generatePatchesExtension": f"{name}.ext", **more}}
