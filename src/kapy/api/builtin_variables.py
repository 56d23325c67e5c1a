"""The variables that every patch of a ClusterClass may use without defining them."""

from __future__ import annotations

from typing import Final

_METADATA: Final = ("metadata.labels", "metadata.annotations")


def _below(name: str, *fields: str) -> set[str]:
    return {name, *(f"{name}.{field}" for field in fields)}


BUILTIN_VARIABLES: Final[frozenset[str]] = frozenset(
    {"builtin"}
    | _below("builtin.cluster", "name", "namespace", "uid", *_METADATA)
    | _below(
        "builtin.cluster.topology",
        "classRef.name",
        "classRef.namespace",
        "class",
        "classNamespace",
        "version",
    )
    | _below("builtin.cluster.network", "serviceDomain", "services", "pods")
    | _below(
        "builtin.controlPlane",
        "name",
        "replicas",
        "version",
        "machineTemplate.infrastructureRef.name",
        *_METADATA,
    )
    | {
        path
        for kind in ("machineDeployment", "machinePool")
        for path in _below(
            f"builtin.{kind}",
            "class",
            "name",
            "replicas",
            "topologyName",
            "version",
            "bootstrap.configRef.name",
            "infrastructureRef.name",
            *_METADATA,
        )
    }
)
"""Names of the built-in variables; templates can also reach into each of them."""
