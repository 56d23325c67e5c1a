"""etcd of a simulated workload cluster, as it really is: a member whose machine is gone stays a
member, and counts for the quorum, until it is removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Transport
from kapy.providers.inmemory.workload.etcd import Etcd


class DurableEtcd(Etcd):
    """The members of one cluster. stopped: members whose machine is gone. changed: called after
    each change by a machine or a request, with a description. dialed: called before each request
    to a member. unstarted: members that are listed as learners without a name. starts_after:
    seconds that new members are unstarted."""

    __slots__ = ("changed", "dialed", "starts_after", "stopped", "unstarted")

    def __init__(self, cluster: str) -> None:
        super().__init__(cluster)
        self.stopped: set[str] = set()
        self.changed: list[Callable[[str], None]] = []
        self.dialed: list[Callable[[], None]] = []
        self.unstarted: set[str] = set()
        self.starts_after = 0.0

    @property
    def has_quorum(self) -> bool:
        """Return whether a majority of the voting members runs."""
        voting = len(self.members.keys() - self.unstarted)
        return not voting or self.alive > voting // 2

    @property
    def alive(self) -> int:
        """Return how many members run."""
        return len(self.members.keys() - self.stopped - self.unstarted)

    def join(self, name: str, machine: str) -> None:
        """Start a member; it needs the quorum of the others."""
        if name not in self.members and not self.has_quorum:
            return
        before = len(self.members)
        super().join(name, machine)
        if len(self.members) != before:
            if self.starts_after and before:
                self.unstarted.add(name)
                loop = asyncio.get_running_loop()
                loop.call_later(self.starts_after, self.unstarted.discard, name)
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

    def remove_member(self, name: str) -> None:
        """Remove a member, as an agent on its machine does. It does not join again."""
        if name in self.members:
            self._lose(name)
            self._removed.add(name)

    def dial(self, name: str) -> Transport:
        """Connect to one member. Raises Unreachable when it does not run, or without a quorum."""
        for listener in self.dialed:
            listener()
        if name in self.stopped or name in self.unstarted:
            raise Unreachable(f"no etcd member answers on {name}")
        if not self.has_quorum:
            raise Unreachable("etcd has lost its quorum")
        return super().dial(name)

    def _lose(self, name: str) -> None:
        super()._lose(name)
        self.stopped.discard(name)
        self.unstarted.discard(name)
        self._elect()
        self._report(f"etcd member {name} was removed")

    def elect_another(self) -> None:
        """Let the running members elect another leader, if there is one."""
        former, self.leader = self.leader, 0
        self._elect(without=former)

    def _list_members(self) -> list[Document]:
        listed = super()._list_members()
        for name, member in zip(self.members, listed, strict=True):
            if name in self.unstarted:
                del member["name"], member["clientURLs"]
                member["isLearner"] = True
        return listed

    def _elect(self, without: int = 0) -> None:
        silent = self.stopped | self.unstarted
        running = [number for member, number in self.members.items() if member not in silent]
        running = [number for number in running if number != without] or running
        if self.leader not in running:
            self.leader = next(iter(running), 0)

    def _report(self, what: str) -> None:
        for listener in self.changed:
            listener(what)
