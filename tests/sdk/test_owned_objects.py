"""Objects that a provider owns are created once for their owner, and deleted with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.sdk import MachineContext, Provisioned, Released, Waiting, add_infra_machine
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_cloud import MACHINE, PaperCloud, PaperMachine

MACHINES = PaperMachine.RESOURCE


class Printer(PaperCloud):
    """A machine has two printed pages in the management cluster."""

    kind = CONFIG_MAPS

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        answer = await super().reconcile_normal(context)
        for page in ("front", "back"):
            await context.ensure_owned(self.kind, {"data": {"page": page}}, slot=page)
        await context.ensure_owned(CONFIG_MAPS, {"metadata": {"name": f"{context.key.name}-index"}})
        return answer

    async def reconcile_delete(self, context: MachineContext[PaperMachine]) -> Released | Waiting:
        if remaining := await context.delete_owned(CONFIG_MAPS):
            return Waiting(message=f"{remaining} pages are left", requeue_after=None)
        return await super().reconcile_delete(context)


class Lossy:
    """A way to the server on which the answers to creations get lost, once for each name."""

    def __init__(self, bench: ProviderBench) -> None:
        self._transport = bench.runtime.client.transport
        self._lost: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        reply = await self._transport(request)
        if request.method != "POST" or "configmaps" not in request.path:
            return reply
        assert isinstance(reply.body, dict)
        name = reply.body["metadata"].get("name", "")
        if name not in self._lost:
            self._lost.add(name)
            raise Unreachable("the answer got lost")
        return reply


@asynccontextmanager
async def playing(provider: PaperCloud, *, lossy: bool = False) -> AsyncIterator[ProviderBench]:
    async with provider_bench([MACHINES]) as bench:
        if lossy:
            bench.runtime.client.transport = Lossy(bench)
        add_infra_machine(
            bench.runtime, PaperMachine, provider, finalizer="paper.dev/x", owns=[CONFIG_MAPS]
        )
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            yield bench


async def pages(bench: ProviderBench) -> list[Document]:
    listed = await bench.client.list(CONFIG_MAPS, "default")
    return [
        document
        for document in listed.items
        if document["metadata"]["name"].startswith("worker-0-")
    ]


async def message(bench: ProviderBench) -> str:
    machine = await bench.get(MACHINES, "worker-0")
    assert machine is not None
    return next(str(c["message"]) for c in machine["status"]["conditions"] if c["type"] == "Ready")


@pytest.mark.parametrize("lossy", [False, True])
async def test_each_slot_is_created_once_and_owned_by_the_object(*, lossy: bool) -> None:
    async with playing(Printer(), lossy=lossy) as bench:
        await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(60)
        entries, machine = await pages(bench), await bench.get(MACHINES, "worker-0")
        assert machine is not None
        assert sorted(item.get("data", {}).get("page", "") for item in entries) == [
            "",
            "back",
            "front",
        ]
        assert "worker-0-index" in [item["metadata"]["name"] for item in entries]
        for document in entries:
            (owner,) = document["metadata"]["ownerReferences"]
            assert owner["uid"] == machine["metadata"]["uid"]
            assert owner["controller"] is True
            assert owner["blockOwnerDeletion"] is True
            assert document["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "blue"}
        await bench.client.delete(MACHINES, key("worker-0"))
        await bench.until_gone(MACHINES, "worker-0", within=5)
        assert not await pages(bench)


async def test_removed_objects_are_created_again_at_once() -> None:
    async with playing(Printer()) as bench:
        await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(60)
        removal, bare, *_ = names = sorted(page["metadata"]["name"] for page in await pages(bench))
        await bench.client.delete(CONFIG_MAPS, key(removal))
        lost: Document = {"metadata": {"ownerReferences": None}}
        await bench.client.patch(CONFIG_MAPS, key(bare), lost)
        await asyncio.sleep(1)
        results = await pages(bench)
        assert sorted(document["metadata"]["name"] for document in results) == names
        assert all(document["metadata"].get("ownerReferences") for document in results)


async def test_objects_of_other_owners_are_left_alone() -> None:
    async with playing(Printer()) as bench:
        theirs: Document = {"metadata": {"name": "worker-0-index", "namespace": "default"}}
        await bench.client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **theirs})
        await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(2)
        text = "ConfigMap default/worker-0-index is there already, and not of PaperMachine "
        assert text + "default/worker-0" in await message(bench)


async def test_an_undeclared_kind_is_an_error_with_a_remedy() -> None:
    printer = Printer()
    printer.kind = SECRETS
    async with playing(printer) as bench:
        await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(2)
        assert "name it in `owns` where the provider is added" in await message(bench)
