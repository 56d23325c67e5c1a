"""The tree as a graph, as a page, and drawn again when something changes."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.clusterctl.describe import Options, discover
from kapy.clusterctl.describe.changes import follow, resources_of
from kapy.clusterctl.describe.dot import dot
from kapy.clusterctl.describe.page import page
from kapy.clusterctl.describe.tree import Node
from kapy.kube import Key
from kapy.kube.names import Resource
from tests.clusterctl.test_describe import RUNS, tree_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
SECRETS = Resource("", "v1", "secrets", "Secret")


async def test_a_graph_has_a_node_for_each_object_and_an_edge_to_each_child() -> None:
    tree = await tree_of(RUNS[-1]["objects"], "shop", Options(grouping=False))
    text = dot(tree, now=NOW)
    nodes = list(tree.walk())
    assert len(re.findall(r"^  n\d+ \[label=", text, re.MULTILINE)) == len(nodes)
    assert text.count(" -> ") == len(nodes) - 1
    assert 'label="Cluster\\nfleet/shop\\nAvailable' in text


async def test_names_cannot_break_out_of_a_picture() -> None:
    evil = {"kind": 'A"\\', "metadata": {"name": '<script>"&'}, "status": {}}
    node = Node("Thing", evil)
    assert '\\"' in dot(node, now=NOW)
    text = page(node, now=NOW)
    assert "<script>" not in text
    assert "&lt;script&gt;&quot;&amp;" in text


class Balance(HTMLParser):
    """Whether what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_a_page_is_whole_and_needs_nothing_else() -> None:
    tree = await tree_of(RUNS[-1]["objects"], "shop", Options(grouping=False))
    text = page(tree, now=NOW)
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    assert not re.search(r"(src|href)=", text)
    assert text.count("<li>") == len(list(tree.walk()))


async def test_a_picture_is_drawn_again_when_the_cluster_changes_and_only_then() -> None:
    async with management_plane(Settings(), clock=loop_clock()) as plane:
        cluster = {
            "apiVersion": CLUSTERS.api_version,
            "kind": "Cluster",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {
                "paused": True,
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "DevCluster",
                    "name": "one",
                },
            },
        }
        for name in ("one", "other"):
            entries = {**cluster, "metadata": {"name": name, "namespace": "default"}}
            await plane.client.create(CLUSTERS, entries)
        key, changed = Key("default", "one"), asyncio.Event()
        from kapy.clusterctl.describe import ClientSource

        tree = await discover(ClientSource(plane.client), key, Options())
        resources = await resources_of(plane.client, tree)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(follow(plane.client, key, resources, changed))
            await asyncio.sleep(5)
            changed.clear()
            label = {"metadata": {"labels": {"a": "b"}}}
            await plane.client.patch(CLUSTERS, Key("default", "other"), label)
            await asyncio.sleep(1)
            assert not changed.is_set()
            await plane.client.patch(CLUSTERS, key, label)
            await asyncio.sleep(1)
            assert changed.is_set()
            task.cancel()
