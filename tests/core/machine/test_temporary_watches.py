"""Tests of the watches in a workload cluster that are open only while a Machine waits."""

from __future__ import annotations

from typing import Any

from kapy.client.client import Listed
from kapy.core.machine.temporary_watches import TemporaryWatches, WaitingMachine, WatchedObjects
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.store import Store
from kapy.kube import Document, Key
from kapy.kube.names import PODS, Resource

CLUSTER = Key("default", "c")
ONE, TWO = Key("default", "one"), Key("default", "two")


class Remote:
    """One workload cluster. open: the informers of its temporary watches."""

    def __init__(self) -> None:
        self.pods: list[Document] = []
        self.open: dict[WatchedObjects, Informer[Document]] = {}
        self.lists = 0

    def client(self, _: Key) -> Remote:
        return self

    async def list(self, _: Resource, *, fields: str) -> Listed[Document]:
        self.lists += 1
        return Listed(self.pods, "7")

    def temporary_informer(self, *held: Any) -> Informer[Document] | None:
        return self.open.get(WatchedObjects(*held))

    def start_temporary_informer(self, *arguments: Any) -> Informer[Document]:
        *held, listed = arguments
        if WatchedObjects(*held) not in self.open:
            store = Store()
            store.load(listed.items, listed.resource_version)
            self.open[WatchedObjects(*held)] = Informer(PODS, store)
        return self.open[WatchedObjects(*held)]

    def stop_temporary_informer(self, *held: Any) -> None:
        del self.open[WatchedObjects(*held)]


def waiting(machine: Key) -> WaitingMachine:
    return WaitingMachine(machine, CLUSTER, f"node-of-{machine.name}", set())


async def idle(_: Key) -> Result:
    return DONE


async def test_objects_are_watched_from_the_first_to_the_last_wait() -> None:
    remote, controller = Remote(), Controller("machine", idle)
    temporary_watches = TemporaryWatches(remote)  # type: ignore[arg-type]
    first, second = waiting(ONE), waiting(TWO)

    sight = await temporary_watches.snapshot(controller, first, PODS)
    assert (remote.lists, remote.open) == (1, {})
    sight.watch()
    (await temporary_watches.snapshot(controller, second, PODS)).watch()
    assert remote.lists == 1
    (held,) = remote.open
    assert list(temporary_watches.waiting_machines(held, "node-of-one")) == [ONE]
    assert list(temporary_watches.waiting_machines(held, None)) == [ONE, TWO]

    temporary_watches.release_unused(ONE, first.watched)
    assert list(temporary_watches.waiting_machines(held, None)) == [ONE, TWO]
    temporary_watches.release_unused(ONE)
    assert list(temporary_watches.waiting_machines(held, None)) == [TWO]
    temporary_watches.release_unused(TWO)
    assert remote.open == {}


async def test_remembered_daemon_sets_are_dropped_with_the_watch() -> None:
    temporary_watches = TemporaryWatches(Remote())  # type: ignore[arg-type]
    temporary_watches.daemon_sets(ONE).add(Key("kube-system", "proxy"))
    assert temporary_watches.daemon_sets(ONE)
    temporary_watches.release_unused(ONE)
    assert not temporary_watches.daemon_sets(ONE)
