"""etcd of a workload cluster, as its own HTTP/JSON gateway speaks (`/v3/cluster/member/list` …).

The gateway's spelling is proto3 JSON: 64 bit numbers are decimal strings, and what has its zero
value is left out. Errors are `{"error", "code", "message"}` with an HTTP status.

* EtcdUnreachable   no way to this etcd (no transport, no answer)
* EtcdError         etcd answered with an error
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.foreign_json import decode_json
from kapy.kube.http import Request, Transport
from kapy.remote.cluster_cache import Kubeconfig

EtcdDial: TypeAlias = Callable[[Key, Kubeconfig, str], Transport]
"""How the etcd on a node is reached: the cluster, its kubeconfig and the node's name.

The transport is asked with requests to the gateway's paths whose bodies are documents; one that has
`aclose` is closed. Raises EtcdUnreachable when there is no way.
"""

NO_ALARM: Final = "NONE"


class EtcdUnreachable(KapyError):
    """The connection to this etcd failed, or it did not answer."""


class EtcdError(KapyError):
    """etcd refused a call; the message is etcd's."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an etcd cluster; `name` is empty until it has started."""

    id: int
    name: str
    is_learner: bool = False
    peer_urls: tuple[str, ...] = ()
    client_urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something wrong with one member: NOSPACE or CORRUPT."""

    member_id: int
    kind: str


class Etcd(Protocol):
    """The etcd requests of the control plane. Every method raises EtcdUnreachable or EtcdError."""

    async def aclose(self) -> None:
        """Close the connection."""

    async def leader(self) -> int:
        """Return the ID of the leader as this member sees it; 0 if there is none."""

    async def members(self) -> Sequence[Member]:
        """Return all members; needs a quorum."""

    async def alarms(self) -> Sequence[Alarm]:
        """Return all alarms; needs a quorum."""

    async def remove_member(self, member: int) -> None:
        """Remove a member from the cluster."""

    async def move_leader(self, to: int) -> None:
        """Hand leadership over; only the leader may be asked."""


class EtcdGateway:
    """etcd behind a transport that carries the gateway's requests."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def leader(self) -> int:
        answer = await self._call("/v3/maintenance/status", {})
        with _parse():
            return int(answer.get("leader", 0))

    async def members(self) -> Sequence[Member]:
        answer = await self._call("/v3/cluster/member/list", {"linearizable": True})
        with _parse():
            return [_member(member) for member in answer.get("members") or ()]

    async def alarms(self) -> Sequence[Alarm]:
        answer = await self._call("/v3/maintenance/alarm", {"action": "GET"})
        with _parse():
            result = [
                Alarm(int(alarm.get("memberID", 0)), str(alarm.get("alarm", NO_ALARM)))
                for alarm in answer.get("alarms") or ()
            ]
        return [alarm for alarm in result if alarm.kind != NO_ALARM]

    async def remove_member(self, member: int) -> None:
        await self._call("/v3/cluster/member/remove", {"ID": str(member)})

    async def move_leader(self, to: int) -> None:
        await self._call("/v3/maintenance/transfer-leadership", {"targetID": str(to)})

    async def aclose(self) -> None:
        """Close the connection."""
        close = getattr(self._transport, "aclose", None)
        if close is not None:
            await close()

    async def _call(self, path: str, body: Document) -> Document:
        headers = {"content-type": "application/json", "accept": "application/json"}
        try:
            reply = await self._transport(Request("POST", path, headers=headers, body=body))
        except Unreachable as error:
            raise EtcdUnreachable(str(error)) from error
        answer = _document(reply.body)
        if reply.status >= 400:
            raise EtcdError(str(answer.get("message") or answer.get("error") or reply.status))
        return answer


def member_named(members: Iterable[Member], name: str) -> Member | None:
    """Return the member of that name (kubeadm calls a member like its node)."""
    return next((member for member in members if member.name == name), None)


def member_names(members: Iterable[Member]) -> list[str]:
    """Return the names of members for messages."""
    return [member.name or f"name not set yet for member with id {member.id}" for member in members]


@contextmanager
def _parse() -> Iterator[None]:
    """Parse a part of an answer. Raises EtcdError if it does not match etcd's API."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise EtcdError("the answer is not what etcd says") from None


def _member(source: Document) -> Member:
    return Member(
        id=int(source.get("ID", 0)),
        name=str(source.get("name", "")),
        is_learner=bool(source.get("isLearner", False)),
        peer_urls=tuple(map(str, source.get("peerURLs") or ())),
        client_urls=tuple(map(str, source.get("clientURLs") or ())),
    )


def _document(body: Any) -> Document:
    if isinstance(body, dict):
        return body
    try:
        result = decode_json(body) if isinstance(body, bytes) else None
    except ValueError:
        result = None
    if not isinstance(result, dict):
        raise EtcdError("the answer is no JSON object")
    return result
