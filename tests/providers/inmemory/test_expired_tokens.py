"""Expired bootstrap tokens of simulated clusters are deleted when the next token is created."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest

from kapy.api.times import stamp
from kapy.kube import Document
from kapy.kube.http import ADMIN, MERGE_PATCH, Request
from kapy.providers.inmemory.workload import housekeeping
from kapy.providers.inmemory.workload.housekeeping import TokenCleaner
from kapy.providers.inmemory.workload.kubeadm import ensure_namespaces
from kapy.providers.inmemory.workload.objects import Objects
from kapy.providers.inmemory.workload.server import WorkloadServer

SECRETS = "/api/v1/namespaces/kube-system/secrets"


class Tokens:
    """The bootstrap tokens of a server whose clock is set by the test."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.server = WorkloadServer.in_memory(lambda: self.now)
        ensure_namespaces(Objects(self.server))
        TokenCleaner(self.server)
        self._ask = self.server.transport(ADMIN)

    async def create(self, name: str, minutes: int) -> None:
        data = {"expiration": self._end(minutes)}
        secret: Document = {"metadata": {"name": name, "namespace": "kube-system"}, "data": data}
        secret |= {"apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token"}
        reply = await self._ask(Request("POST", SECRETS, {}, {}, secret))
        assert reply.status == 201, reply.body
        await asyncio.sleep(0)

    async def prolong(self, name: str, minutes: int) -> None:
        patch = {"data": {"expiration": self._end(minutes)}}
        headers = {"content-type": MERGE_PATCH}
        reply = await self._ask(Request("PATCH", f"{SECRETS}/{name}", {}, headers, patch))
        assert reply.status == 200, reply.body

    def names(self) -> list[str]:
        return sorted(self.server.store.table("secrets").namespaces.get("kube-system", {}))

    def _end(self, minutes: int) -> str:
        return b64encode(stamp(self.now + timedelta(minutes=minutes)).encode()).decode()


async def test_expired_tokens_are_deleted_with_the_next_one() -> None:
    tokens = Tokens()
    await tokens.create("a", 10)
    await tokens.create("b", 30)
    tokens.now += timedelta(minutes=11)
    assert tokens.names() == ["a", "b"]
    await tokens.create("c", 30)
    assert tokens.names() == ["b", "c"]


async def test_a_prolonged_token_stays_until_its_new_end() -> None:
    tokens = Tokens()
    await tokens.create("a", 10)
    await tokens.prolong("a", 60)
    tokens.now += timedelta(minutes=11)
    await tokens.create("b", 90)
    assert tokens.names() == ["a", "b"]
    tokens.now += timedelta(minutes=50)
    await tokens.create("c", 90)
    assert tokens.names() == ["b", "c"]


async def test_a_new_token_does_not_make_all_others_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = housekeeping._expiration

    def expiration(secret: Document) -> str:
        reads.append(secret["metadata"]["name"])
        return read(secret)

    monkeypatch.setattr(housekeeping, "_expiration", expiration)
    tokens = Tokens()
    for number in range(20):
        await tokens.create(f"token-{number}", 10)
    assert len(reads) == 20
