"""etcd of a simulated workload cluster, as it really is: a member whose machine is gone stays a
member, and counts for the quorum, until it is removed."""

from __future__ import annotations

from collections.abc import Callable

from kapy.kube.errors import Unreachable
from kapy.kube.http import Transport
from kapy.providers.inmemory.workload.etcd import Etcd


class DurableEtcd(Etcd):
    """The members of one cluster. stopped: members whose machine is gone. changed: called after
    each change by a machine or a request, with a description. dialed: called before each request
    to a member."""

    __slots__ = ("changed", "dialed", "stopped")

    def __init__(self, cluster: str) -> None:
        super().__init__(cluster)
        self.stopped: set[str] = set()
        self.changed: list[Callable[[str], None]] = []
        self.dialed: list[Callable[[], None]] = []

    @property
    def has_quorum(self) -> bool:
        """Return whether a majority of the members runs."""
        return not self.members or self.alive > len(self.members) // 2

    @property
    def alive(self) -> int:
        """Return how many members run."""
        return len(self.members.keys() - self.stopped)

    def join(self, name: str, machine: str) -> None:
        """Start a member; it needs the quorum of the others."""
        if name not in self.members and not self.has_quorum:
            return
        before = len(self.members)
        super().join(name, machine)
        if len(self.members) != before:
            self._report(f"etcd member {name} joined")

    def leave(self, name: str) -> None:
        """The machine of a member is gone; the member stays in the list."""
        if name not in self.members:
            super().leave(name)
            return
        self.stopped.add(name)
        if self.alive == 0:
            self.members.clear()
            self.stopped.clear()
            self.leader = 0
            return
        if self.members[name] == self.leader:
            self._elect()
        self._report(f"the machine of etcd member {name} went")

    def dial(self, name: str) -> Transport:
        """Connect to one member. Raises Unreachable when it does not run, or without a quorum."""
        for listener in self.dialed:
            listener()
        if name in self.stopped:
            raise Unreachable(f"no etcd member answers on {name}")
        if not self.has_quorum:
            raise Unreachable("etcd has lost its quorum")
        return super().dial(name)

    def _lose(self, name: str) -> None:
        super()._lose(name)
        self.stopped.discard(name)
        self._elect()
        self._report(f"etcd member {name} was removed")

    def _elect(self) -> None:
        running = [number for one, number in self.members.items() if one not in self.stopped]
        if self.leader not in running:
            self.leader = next(iter(running), 0)

    def _report(self, what: str) -> None:
        for listener in self.changed:
            listener(what)
