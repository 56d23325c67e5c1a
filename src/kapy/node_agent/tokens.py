"""ServiceAccount tokens of one Pod: requested, stored, and renewed before they expire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from kapy._aio.clock import Clock
from kapy.api.times import stamp
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.node_agent.sources import MissingSource

ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
LIFE = 3607
"""Seconds of a token for the API server, as kubelets ask for them."""
_USED = 0.8
"""The part of a token's life after which it is replaced."""


@dataclass(frozen=True, slots=True)
class _Issued:
    token: str
    renew: datetime
    expires: datetime


class Tokens:
    """The tokens of one Pod, each bound to it: they become invalid with the Pod."""

    def __init__(self, client: Client, pod: Document, clock: Clock) -> None:
        self._client = client
        self._pod = pod
        self._clock = clock
        self._issued: dict[tuple[str, int], _Issued] = {}
        self._token_requests = set(_token_requests(pod))
        self._written: tuple[_Issued, ...] = ()
        """The tokens that the containers can read: a full disk may keep new ones from them."""

    def current(self, audience: str, seconds: int) -> str:
        """Return the token for an audience. Raises MissingSource before it is issued."""
        result = self._issued.get((audience, seconds))
        if result is None:
            raise MissingSource("its ServiceAccount token is not issued yet")
        return result.token

    @property
    def expired(self) -> str:
        """The reason that a token of the containers is not accepted any more, "" if all are."""
        now = self._clock()
        times = [item.expires for item in self._written if item.expires <= now]
        return f"its ServiceAccount token expired at {stamp(min(times))}" if times else ""

    def mark_written(self) -> None:
        """Record that the containers can read the tokens as they are now."""
        self._written = tuple(self._issued.values())

    async def refresh(self) -> bool:
        """Renew the tokens that are due; whether there were any. Raises ApiError."""
        now = self._clock()
        due = [
            item
            for item in self._token_requests
            if item not in self._issued or self._issued[item].renew <= now
        ]
        for audience, seconds in due:
            self._issued[audience, seconds] = await self._issue(audience, seconds, now)
        return bool(due)

    async def _issue(self, audience: str, seconds: int, now: datetime) -> _Issued:
        meta = self._pod["metadata"]
        account = self._pod["spec"].get("serviceAccountName") or "default"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        spec: Document = {"expirationSeconds": seconds, "boundObjectRef": bound}
        if audience:
            spec["audiences"] = [audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = ACCOUNTS.path(meta["namespace"], account, "token")
        answer = await self._client.raw("POST", path, body=body)
        life = timedelta(seconds=seconds)
        return _Issued(answer["status"]["token"], now + life * _USED, now + life)


def _token_requests(pod: Document) -> Iterator[tuple[str, int]]:
    """The audiences and lifetimes of a Pod's tokens."""
    if pod["spec"].get("automountServiceAccountToken") is not False:
        yield "", LIFE
    for volume in pod["spec"].get("volumes") or ():
        for item in (volume.get("projected") or {}).get("sources") or ():
            source = item.get("serviceAccountToken")
            if source is not None:
                yield source.get("audience") or "", source.get("expirationSeconds") or 3600
