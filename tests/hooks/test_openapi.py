"""The OpenAPI document, and hooks in a few words, as upstream has them but for prose."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kapy.cli.root import ROOT
from kapy.hooks.catalog import own_catalog
from kapy.hooks.openapi.document import describe_hook, openapi
from kapy.kube import Document
from kapy.kube.yaml import load
from tests.hooks.upstream_hooks import upstream_catalog, without_more
from tests.oracle.recorded import SAMPLES
from tests.oracle.topic import compared

FOLDER = SAMPLES / "hooks"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "runtime-sdk-openapi.yaml"


def without_prose(node: Any, key: str = "") -> Any:
    """A document without sentences, and with sets in one order."""
    if isinstance(node, dict):
        return {
            name: without_prose(value, name)
            for name, value in node.items()
            if not (name.lower() in ("description", "summary") and isinstance(value, str))
        }
    if isinstance(node, list):
        texts = key in ("required", "enum")
        return sorted(node) if texts else [without_prose(item) for item in node]
    return node


def test_the_openapi_document_equals_upstreams() -> None:
    recorded = json.loads(gzip.decompress((FOLDER / "openapi.json.gz").read_bytes()))
    document = openapi(upstream_catalog(), "v1.14.0")
    document["components"]["schemas"] = without_more(document["components"]["schemas"])
    assert list(compared(without_prose(recorded), without_prose(document))) == []


def test_fields_and_hooks_that_upstream_lacks_can_be_declared() -> None:
    whole = openapi(own_catalog(), "v1.14.0")["components"]["schemas"]
    fewer = without_more(whole, {"MachineSpec": ("clusterName",)})
    [name] = [name for name in whole if name.endswith(".MachineSpec")]
    assert "clusterName" in whole[name]["properties"]
    assert {"clusterName"}.isdisjoint([*fewer[name]["properties"], *fewer[name]["required"]])
    assert {key for key in whole if whole[key] != fewer[key]} == {name}
    names = {hook.name for hook in upstream_catalog(frozenset(["BeforeClusterCreate"]))}
    assert names == {hook.name for hook in own_catalog()} - {"BeforeClusterCreate"}


def test_the_catalog_has_the_hooks_of_upstreams() -> None:
    recorded = {item["hook"]: item for item in json.loads((FOLDER / "catalog.json").read_text())}
    for hook in upstream_catalog():
        expected = recorded.pop(hook.name)
        assert expected.pop("path_with_name_My-Handler") == hook.path("My-Handler")
        assert list(compared(without_prose(expected), without_prose(describe_hook(hook)))) == []
    assert not recorded


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(value) for value in node.values()))
    return set().union(*(references(item) for item in node)) if isinstance(node, list) else set()


def test_every_reference_resolves_and_everything_has_a_description() -> None:
    document = openapi(own_catalog(), "v1.14.0")
    schemas = document["components"]["schemas"]
    assert {reference.rpartition("/")[2] for reference in references(document)} == set(schemas)
    silent = [
        f"{component}.{name}"
        for component, schema in schemas.items()
        if ".hooks." in component
        for name, field in schema["properties"].items()
        if not field.get("description")
    ]
    assert silent == []


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_the_command_prints_the_openapi_document(output: str) -> None:
    answered = CliRunner().invoke(ROOT, ["hooks", "openapi", "-o", output])
    document: Document = load(answered.output)
    assert answered.exit_code == 0
    assert document == load(PAGE.read_text())
