"""Tests of the Clusters that a ClusterResourceSet selects, and of the deletion of bindings."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.api.features import DEFAULT_GATES
from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.core.clusterresourceset.reconcile import is_selected
from kapy.core.clusterresourcesetbinding.controller import ClusterResourceSetBindingReconciler
from kapy.core.clusterresourcesetbinding.controller import Dependencies as BindingDependencies
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request
from kapy.kube.selectors import selector_of

KEY = Key("default", "c")
GONE = "2026-01-01T00:00:00Z"


def cluster(*, deleting: bool = False, ok: bool = False, topology: bool = False) -> Document:
    metadata: Document = {"name": "c", "namespace": "default", "labels": {"cni": "yes"}}
    if deleting:
        metadata["deletionTimestamp"] = GONE
    if ok:
        metadata["annotations"] = {Annotation.OK_TO_DELETE: ""}
    return {"metadata": metadata, "spec": {"topology": {"version": "v1.34.0"}} if topology else {}}


@pytest.mark.parametrize(
    ("selector", "of", "selected"),
    [
        ({"matchLabels": {"cni": "yes"}}, cluster(), True),
        ({"matchLabels": {"cni": "no"}}, cluster(), False),
        ({"matchLabels": {"cni": "yes"}}, cluster(deleting=True), False),
        # Admission refuses these today.
        ({}, cluster(), False),
        ({"matchLabels": {}}, cluster(), False),
        ({"matchExpressions": []}, cluster(), False),
    ],
)
def test_a_set_selects_clusters_by_label(
    selector: Document, of: Document, *, selected: bool
) -> None:
    assert is_selected(selector_of(selector), of) == selected


@pytest.mark.parametrize(
    ("of", "hooks", "goes"),
    [
        (None, True, True),
        (cluster(), True, False),
        (cluster(deleting=True), True, True),
        (cluster(deleting=True, topology=True), True, False),  # a hook may still hold it
        (cluster(deleting=True, topology=True, ok=True), True, True),
        (cluster(deleting=True, topology=True), False, True),
    ],
)
async def test_a_binding_is_deleted_without_sets_or_cluster(
    of: Document | None, *, hooks: bool, goes: bool
) -> None:
    entries: list[str] = []

    async def answer(request: Request) -> Reply:
        entries.append(request.method)
        return Reply(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    binding: Document = {
        "metadata": {"name": "c", "namespace": "default", "uid": "u", "resourceVersion": "1"},
        "spec": {"clusterName": "c"},
    }
    gates = replace(DEFAULT_GATES, runtime_sdk=hooks, cluster_topology=True)
    holders: dict[str, Any] = {
        "bindings": SimpleNamespace(raw=lambda _: binding, when_packed=lambda _: None),
        "clusters": SimpleNamespace(raw=lambda _: of),
    }
    dependencies = BindingDependencies(
        Client(answer, field_manager="test"), gates=gates, clock=system_clock, **holders
    )
    await ClusterResourceSetBindingReconciler(dependencies).reconcile(KEY)
    assert entries == (["DELETE"] if goes else [])
