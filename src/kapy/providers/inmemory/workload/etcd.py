"""etcd of a workload cluster, as its HTTP/JSON gateway answers: membership, leader, alarms.

No keys are kept: the cluster's objects are in its API server's store. The gateway's spelling is
proto3 JSON: 64 bit numbers are decimal strings, and what has its zero value is left out.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport

VERSION: Final = "3.6.5"
_NOT_FOUND, _FAILED_PRECONDITION, _UNIMPLEMENTED = 5, 9, 12
_HTTP: Final = {_NOT_FOUND: 404, _FAILED_PRECONDITION: 400, _UNIMPLEMENTED: 501}


class Etcd:
    """The members of one etcd cluster. A member has the name of its machine. alarms: kinds
    (`NOSPACE`, `CORRUPT`) by member ID, for fault injection.
    """

    __slots__ = ("_removed", "alarms", "id", "leader", "members")

    def __init__(self, cluster: str) -> None:
        self.id = _number(cluster)
        self.members: dict[str, int] = {}
        self.leader = 0
        self.alarms: dict[int, str] = {}
        self._removed: set[str] = set()

    def join(self, name: str, machine: str) -> None:
        """Start a member on a machine. machine: its uid; a restart gives the same member ID. A
        removed member does not rejoin by itself.
        """
        if name in self.members or name in self._removed:
            return
        self.members[name] = _number(f"{self.id}/{machine}")
        if not self.leader:
            self.leader = self.members[name]

    def leave(self, name: str) -> None:
        """Remove the member of a deleted machine."""
        self._removed.discard(name)
        self._lose(name)

    def dial(self, name: str) -> Transport:
        """Return the gateway of one member; raises Unreachable when it does not run."""

        async def ask(request: Request) -> Reply:
            if name not in self.members:
                raise Unreachable(f"no etcd member answers on {name}")
            action = _ACTIONS.get(request.path)
            if action is None or request.method != "POST":
                return _failure(_UNIMPLEMENTED, f"no handler for {request.method} {request.path}")
            answer = action(self, name, _read(request.body))
            return answer if isinstance(answer, Reply) else Reply(200, answer)

        return ask

    def _lose(self, name: str) -> None:
        member = self.members.pop(name, None)
        if member is None:
            return
        self.alarms.pop(member, None)
        if member == self.leader:  # the others elect one of them
            self.leader = next(iter(self.members.values()), 0)

    def _header(self, name: str) -> Document:
        member = self.members.get(name, 0)
        return {"cluster_id": str(self.id), "member_id": str(member), "raft_term": "2"}

    def _list(self, name: str, _: Document) -> Document | Reply:
        return {"header": self._header(name), "members": self._list_members()}

    def _list_members(self) -> list[Document]:
        return [
            {
                "ID": str(member),
                "name": name,
                "peerURLs": [f"https://{name}:2380"],
                "clientURLs": [f"https://{name}:2379"],
            }
            for name, member in self.members.items()
        ]

    def _remove(self, name: str, request: Document) -> Document | Reply:
        wanted = str(request.get("ID", "0"))
        header = self._header(name)
        for other, member in self.members.items():
            if str(member) == wanted:
                self._lose(other)
                self._removed.add(other)
                return {"header": header, "members": self._list_members()}
        return _failure(_NOT_FOUND, "etcdserver: member not found")

    def _status(self, name: str, _: Document) -> Document | Reply:
        status: Document = {
            "header": self._header(name),
            "version": VERSION,
            "dbSize": "20480",
            "leader": str(self.leader),
            "raftIndex": "10",
            "raftTerm": "2",
            "raftAppliedIndex": "10",
            "dbSizeInUse": "16384",
        }
        return status

    def _alarm(self, name: str, _: Document) -> Document | Reply:
        alarms = [{"memberID": str(member), "alarm": kind} for member, kind in self.alarms.items()]
        answer: Document = {"header": self._header(name)}
        return answer | {"alarms": alarms} if alarms else answer

    def _move(self, name: str, request: Document) -> Document | Reply:
        if self.members[name] != self.leader:
            return _failure(_FAILED_PRECONDITION, "etcdserver: not leader")
        wanted = str(request.get("targetID", "0"))
        for member in self.members.values():
            if str(member) == wanted:
                self.leader = member
                return {"header": self._header(name)}
        return _failure(_FAILED_PRECONDITION, "etcdserver: bad leader transferee")


_ACTIONS: Final = {
    "/v3/cluster/member/list": Etcd._list,
    "/v3/cluster/member/remove": Etcd._remove,
    "/v3/maintenance/status": Etcd._status,
    "/v3/maintenance/alarm": Etcd._alarm,
    "/v3/maintenance/transfer-leadership": Etcd._move,
}


def _number(text: str) -> int:
    """Return an ID in etcd's format: 64 bits, never zero."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) or 1


def _read(body: Any) -> Document:
    if isinstance(body, bytes):
        body = msgspec.json.decode(body or b"{}")
    return body if isinstance(body, dict) else {}


def _failure(code: int, message: str) -> Reply:
    return Reply(_HTTP[code], {"error": message, "code": code, "message": message})
