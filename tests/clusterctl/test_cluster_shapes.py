"""Types of a Cluster's fields as templates are checked with, beside the CRD that has them all."""

from __future__ import annotations

import pytest

from kapy.api.crds import crds
from kapy.clusterctl.templates.cluster_shapes import SPECIFICATIONS, shape_errors, shape_of
from kapy.kube import Document

(CLUSTER,) = [crd for crd in crds() if crd["metadata"]["name"] == "clusters.cluster.x-k8s.io"]
SIGNS = {"string": "", "integer": "#", "boolean": "?"}


def written(schema: Document) -> str | None:
    """A schema as the table writes it; None for what may be anything."""
    kind = schema.get("type")
    if kind == "array":
        inner = written(schema["items"])
        return None if inner is None else f"[{inner}]"
    if kind == "object" and "additionalProperties" in schema:
        return f"{{*{written(schema['additionalProperties'])}}}"
    if kind == "object":
        entry = {
            name: written(subschema) for name, subschema in schema.get("properties", {}).items()
        }
        return (
            "{"
            + " ".join(f"{name}{text}" for name, text in entry.items() if text is not None)
            + "}"
        )
    return SIGNS.get(kind or "")


def test_the_table_of_fields_matches_the_crd() -> None:
    schemas = {
        version["name"]: version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for version in CLUSTER["spec"]["versions"]
    }
    assert {name: shape_of(written(schema) or "") for name, schema in schemas.items()} == {
        name: shape_of(text) for name, text in SPECIFICATIONS.items()
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"paused": False, "unknown": [1], "topology": None}, []),
        ({"topology": {"controlPlane": {"metadata": {"labels": {"a": "b"}}}}}, []),
        ({"paused": "x"}, ["spec.paused must be a boolean, and is a string"]),
        ({"paused": 1}, ["spec.paused must be a boolean, and is a number"]),
        ([], ["spec must be a map, and is a list"]),
        (
            {"clusterNetwork": {"apiServerPort": True, "pods": {"cidrBlocks": ["a", ["b"]]}}},
            [
                "spec.clusterNetwork.apiServerPort must be a number, and is a boolean",
                "spec.clusterNetwork.pods.cidrBlocks[1] must be a string, and is a list",
            ],
        ),
        (
            {"topology": {"controlPlane": {"metadata": {"labels": {"a": 1}}}}},
            ["spec.topology.controlPlane.metadata.labels.a must be a string, and is a number"],
        ),
    ],
)
def test_fields_of_another_type_are_reported(spec: object, expected: list[str]) -> None:
    assert list(shape_errors({"metadata": {"name": "c"}, "spec": spec}, "v1beta2")) == expected
