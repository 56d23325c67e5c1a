"""Tests of the migration of managed fields whose owners a kube-apiserver has lost."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.core.topology.managed_fields import migrated_entries
from kapy.kube import Document, Key
from kapy.kube.apply.managers import parse_entries
from tests.core.topology.topology_story import CLUSTER, PLANE, plane_with_cluster
from tests.stories.networked import controllers_behind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def document(kind: str, *managers: str, spec: Any = None) -> Document:
    entries = [{"manager": manager, "operation": "Apply"} for manager in managers]
    metadata: Document = {"name": "one", "managedFields": entries}
    return {"apiVersion": "a/v1", "kind": kind, "metadata": metadata, "spec": spec or {}}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("Herd", ["capi-topology"], None),
        ("Herd", ["kubectl"], None),
        ("Herd", [], ["capi-topology"]),
        ("Herd", ["before-first-apply"], ["capi-topology"]),
        ("Herd", ["before-first-apply", "kubectl"], ["kubectl", "capi-topology"]),
        ("Herd", ["before-first-apply", "capi-topology"], ["capi-topology"]),
        ("Cluster", ["manager"], None),
        ("Cluster", ["kubectl"], None),
        ("Cluster", [], ["manager"]),
        ("Cluster", ["before-first-apply"], ["manager"]),
        ("Cluster", ["capi-topology"], ["manager"]),
        ("Cluster", ["capi-topology", "before-first-apply", "kubectl"], ["kubectl"]),
    ],
)
def test_the_controllers_entry_exists_and_the_ownerless_one_is_removed(
    kind: str, before: list[str], after: list[str] | None
) -> None:
    entries = migrated_entries(document(kind, *before), NOW)
    assert (None if entries is None else [item["manager"] for item in entries]) == after


@pytest.mark.parametrize(
    ("arguments", "owned"),
    [
        (
            [{"name": "v", "value": "4"}, {"name": "profiling"}],
            ['k:{"name":"v","value":"4"}', 'k:{"name":"profiling","value":""}'],
        ),
        ({"v": "4"}, ["f:v"]),
    ],
)
def test_the_managed_fields_of_a_control_plane_include_its_arguments(
    arguments: Any, owned: list[str]
) -> None:
    config = {"clusterConfiguration": {"apiServer": {"extraArgs": arguments}}}
    spec = {"kubeadmConfigSpec": config}
    (entry,) = migrated_entries(document("KubeadmControlPlane", spec=spec), NOW) or []
    server = entry["fieldsV1"]["f:spec"]["f:kubeadmConfigSpec"]["f:clusterConfiguration"]
    assert list(server["f:apiServer"]["f:extraArgs"]) == owned
    assert parse_entries([entry]) is not None


@pytest.mark.parametrize("network", [False, True])
async def test_objects_without_managed_fields_can_be_changed_again(
    network: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(controllers_behind(monkeypatch, network=network))
        story = await stack.enter_async_context(plane_with_cluster())
        for kind, name in ((KubeadmControlPlane, PLANE), (Cluster, CLUSTER)):
            lost = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
            await story.client.patch(kind.RESOURCE, Key("default", name), lost)
        await story.topology(controlPlane={"replicas": 1, "metadata": {"labels": {"a": "b"}}})
        await story.until_settled()
        await story.topology(controlPlane={"replicas": 1, "metadata": None})
        await story.until_settled()
        result = await story.client.get(KubeadmControlPlane.RESOURCE, Key("default", PLANE))
        assert "a" not in result["metadata"]["labels"]
        managers = {field["manager"] for field in result["metadata"]["managedFields"]}
        assert "before-first-apply" not in managers
        assert "capi-topology" in managers
