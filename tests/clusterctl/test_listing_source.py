"""A source that lists each kind once, with and without an event loop."""

from __future__ import annotations

from itertools import count

import pytest

from kapy.client.blocking import run_without_loop
from kapy.client.client import Client
from kapy.clusterctl.describe import ListingSource, source
from kapy.clusterctl.describe.source import MACHINES
from kapy.kube import Key
from kapy.kube.http import Reply, Request

CLUSTER = Key("default", "capybara")


class _Server:
    """A server with two Machines of the cluster, and one that has no label of it."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request.path.rpartition("/")[2])
        if request.path.endswith("/machines"):
            items = [{"metadata": {"name": name, "namespace": "default"}} for name in ("a", "b")]
            return Reply(200, {"items": items, "metadata": {"resourceVersion": "1"}})
        name = self.requests[-1]
        return Reply(200, {"metadata": {"name": name, "namespace": "default"}})


def test_objects_are_listed_once_and_read_one_by_one_only_without_the_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Commands run without an event loop: however long it takes, nothing may wait for one.
    seconds = count()
    monkeypatch.setattr(source, "perf_counter", lambda: next(seconds))
    server = _Server()
    machines = ListingSource(Client(server), CLUSTER)
    for name in ("a", "b", "other"):
        machine = run_without_loop(machines.readable(MACHINES, Key("default", name)))
        assert machine is not None
        assert machine["metadata"]["name"] == name
    assert server.requests == ["machines", "other"]


async def test_reading_objects_does_not_block_a_shared_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds, pauses = count(), 0

    async def pause() -> None:
        nonlocal pauses
        pauses += 1

    monkeypatch.setattr(source, "perf_counter", lambda: next(seconds))
    machines = ListingSource(Client(_Server()), CLUSTER, pause=pause)
    for _ in range(3):
        await machines.of_cluster(MACHINES, CLUSTER)
    assert pauses == 3
