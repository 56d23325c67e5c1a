"""Values of a wrong type where the CRD's schema does not look."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from kapy.api.cluster_class import ClusterClass
from kapy.kube import Document
from kapy.kube.http import Request
from tests.oracle.admission import environment_of, served
from tests.oracle.recorded import data

ENVIRONMENT: Final = environment_of(data("oracle/admission"))
SCHEMA: Final[Document] = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "properties": {
        "list": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "integer",
                "minimum": 1,
                "x-kubernetes-validations": [{"rule": "true", "message": "m"}],
            },
        }
    },
    "required": ["list"],
    "allOf": [{"minProperties": 1}],
}
WRONG: Final = (7, "text", [1], {"a": 1}, True)


def cases() -> Iterator[Any]:
    for place in places(SCHEMA):
        if place:
            yield pytest.param(place, id=".".join(map(str, place)))


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield place
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*place, key))


def with_value(place: tuple[str | int, ...], value: Any) -> Document:
    schema: Any = copy.deepcopy(SCHEMA)
    parent = schema
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    result: Document = schema
    return result


@pytest.mark.parametrize("place", list(cases()))
async def test_a_schema_of_a_variable_with_a_wrong_type_is_refused(
    place: tuple[str | int, ...],
) -> None:
    recorded = next(item for item in ENVIRONMENT if item["kind"] == "ClusterClass")
    path = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/adm/{ClusterClass.RESOURCE.plural}"
    async with served([]) as transport:
        for value in WRONG:
            document = copy.deepcopy(recorded)
            document.pop("status", None)
            document["metadata"] = {"name": "changed", "namespace": "adm"}
            schema = {"openAPIV3Schema": with_value(place, value)}
            variables = [{"name": "v", "required": False, "schema": schema}]
            document["spec"]["variables"] = variables
            encoded = json.dumps(document).encode()
            reply = await transport(Request("POST", path, {"dryRun": "All"}, body=encoded))
            body: Any = reply.body
            assert reply.status in (201, 400, 422), (value, body)
            if reply.status == 400:
                assert "spec.variables[0].schema.openAPIV3Schema" in body["message"]
