"""A provider's kind of several versions: one is stored, all are served, somebody converts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.provider.components import components_of
from kapy.apps.provider.definitions import crds_of
from kapy.apps.settings import Settings
from kapy.kube import Document, Key
from kapy.kube.names import CRDS
from kapy.sdk import Rulebook, Runtime
from kapy.sdk.provider import BadProvider, Provider
from tests.sdk.paper_rules import RULES, SHEETS, V1, Pages, Sheet


def add_to(runtime: Runtime) -> None:
    """Kinds without controllers."""


SHEET_MILL = Provider(
    name="mill", kinds=(Sheet,), add_to=add_to, image="registry.example.com/mill", admission=RULES
)


def test_every_version_has_its_schema_and_one_is_stored() -> None:
    (crd,) = crds_of(SHEET_MILL)
    versions = {version["name"]: version for version in crd["spec"]["versions"]}
    assert {name: version["storage"] for name, version in versions.items()} == {
        "v2": True,
        "v1": False,
    }
    fields = {
        name: set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
        for name, version in versions.items()
    }
    assert fields == {"v2": {"sheets", "colour", "watermark"}, "v1": {"pages", "colour"}}
    assert "conversion" not in crd["spec"]


def test_a_release_configures_its_conversion_webhook() -> None:
    (crd,) = [
        component
        for component in components_of(SHEET_MILL, "v0.1.0")
        if component["kind"] == CRDS.kind
    ]
    service = crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]
    assert service["path"] == "/convert"
    rules = [
        rule
        for component in components_of(SHEET_MILL, "v0.1.0")
        if component["kind"] == "ClusterRole"
        for rule in component["rules"]
    ]
    [trusting] = [
        rule for rule in rules if rule["resources"] == [CRDS.plural] and "patch" in rule["verbs"]
    ]
    assert trusting["resourceNames"] == [crd["metadata"]["name"]]


def test_a_version_without_a_struct_is_refused_with_a_remedy() -> None:
    rules = Rulebook(replace(SHEETS, versions={"v1": replace(V1, kind=None)}))
    with pytest.raises(BadProvider, match="name it as `kind` of the Version"):
        crds_of(replace(SHEET_MILL, admission=rules))


async def test_a_plane_converts_in_its_own_process() -> None:
    async with management_plane(Settings(providers=(SHEET_MILL,)), clock=loop_clock()) as plane:
        metadata = {"name": "one", "namespace": "default"}
        spec: Document = {"sheets": 2, "watermark": "eagle"}
        api_version, kind = Sheet.RESOURCE.api_version, "Sheet"
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
        await plane.client.create(Sheet.RESOURCE, document)
        key = Key("default", "one")
        page = await plane.client.get(Pages.RESOURCE, key)
        assert page["spec"] == {"pages": 2, "colour": "white"}
        await plane.client.update(Pages.RESOURCE, {**page, "spec": {**page["spec"], "pages": 3}})
        stored = await plane.client.get(Sheet.RESOURCE, key)
        assert stored["spec"] == {"sheets": 3, "watermark": "eagle", "colour": "white"}
