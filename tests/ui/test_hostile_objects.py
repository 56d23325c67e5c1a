"""Objects of hostile users, providers and workloads: the pages show them, or say what they omit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests
from kapy.apps.settings import Settings
from kapy.clusterctl.describe.tree import Node
from kapy.kube import Document, Key
from kapy.kube.names import Resource
from kapy.testing import on_virtual_time
from kapy.ui.cluster_page import object_url
from kapy.ui.objects import ClusterObjects
from kapy.ui.query import natural_order
from kapy.ui.timeline import timeline_of
from tests.ui.clusters import cluster
from tests.ui.visitor import Visitor, visiting

EVENTS = Resource("", "v1", "events", "Event")
CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
NOW = datetime(2026, 6, 1, tzinfo=UTC)
FOREIGN: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": "wild", "namespace": "default"},
    "spec": {"infrastructureRef": {"apiGroup": "a.example", "kind": "Wild", "name": "wild"}},
}


@asynccontextmanager
async def _pages() -> AsyncIterator[tuple[ManagementPlane, Visitor]]:
    clock = loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        await apply_manifests(plane.client, [FOREIGN])
        async with visiting(plane.server, clock) as visitor:
            yield plane, visitor


def _event(name: str, about: Document, **fields: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"uid": about["metadata"]["uid"], "namespace": "default"},
        **fields,
    }


@on_virtual_time
async def test_events_without_any_optional_field_are_shown() -> None:
    async with _pages() as (plane, visitor):
        about = await plane.client.get(CLUSTERS, Key("default", "wild"))
        await plane.client.create(EVENTS, _event("bare", about))
        await plane.client.create(EVENTS, _event("modern", about, reason="Odd", type="Warning"))
        page = await visitor.get("/clusters/default/wild")
    assert page.status == 200
    assert "Odd" in page.text


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59"]
)
def test_times_at_the_ends_of_the_calendar_fit_into_the_timeline(moment: str) -> None:
    about = cluster("wild")
    event = _event("far", about, type="Warning", lastTimestamp=moment, firstTimestamp=moment)
    objects = ClusterObjects(
        Key("default", "wild"), Node("Cluster", about), (), (), (), (), events=[event]
    )
    for window in ("all", "1d"):
        for now in (NOW, datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
            spans = timeline_of(objects, (), now, window).spans
            assert all(0 <= span.x <= 1000 for span in spans)
            assert all(span.took(now) for span in spans)


@on_virtual_time
async def test_an_object_of_the_whole_server_has_a_page() -> None:
    async with _pages() as (plane, visitor):
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "labelled", "labels": {"cluster.x-k8s.io/cluster-name": "wild"}},
        }
        await apply_manifests(plane.client, [namespace])
        answers = [
            await visitor.get(f"/objects/core/v1/namespaces/-/{name}")
            for name in ("default", "labelled")
        ]
    assert [answer.status for answer in answers] == [200, 200]


@on_virtual_time
async def test_owners_that_no_server_has_are_no_links_elsewhere() -> None:
    async with _pages() as (plane, visitor):
        owners = [
            {"apiVersion": "v1", "kind": "../../api", "name": "a?b#c", "uid": "2"},
            {"apiVersion": "v1", "kind": "<b>", "name": "javascript:alert(1)", "uid": "3"},
        ]
        owned = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "owned", "namespace": "default", "ownerReferences": owners},
        }
        await apply_manifests(plane.client, [owned])
        page = await visitor.get("/objects/core/v1/configmaps/default/owned")
    assert page.status == 200
    assert 'href="/ui/objects/core/v1/..%2F..%2Fapis/default/a%3Fb%23c"' in page.text
    assert "<b>" not in page.text


def test_the_url_of_an_object_has_its_names_escaped() -> None:
    document = {"apiVersion": "v1", "kind": "../x", "metadata": {"name": "a?b#c/d"}}
    assert object_url(document) == "/ui/objects/core/v1/..%2Fxes/-/a%3Fb%23c%2Fd"


@pytest.mark.parametrize("text", ["²", "v²", "1²3", "٣", "", "v1.31.0-beta.²"])
def test_digits_that_are_no_numbers_are_sorted_as_text(text: str) -> None:
    assert sorted([text, "v1.9", "v1.31"], key=natural_order)
