"""Commands that end between two requests, or with the answer of one lost, and are run again.

A sample of the moments; all of them where KAPY_SOAK is set.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.certificates.own import renew
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.delete import Deletion, delete
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import CONTRACT, Inventory
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.upgrade import Target, upgrade
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import CRDS, DEPLOYMENTS, NAMESPACES, SECRETS, SERVICES
from kapy.testing.faults import BAD_DAY, Faults
from tests.clusterctl.move.killed_process import Killed, Life
from tests.clusterctl.releases import ACME, CORE, Releases, management_cluster

Work = Callable[[Client, Releases], Awaitable[object]]

FAULTS: Final = replace(BAD_DAY, stale_list=0.0)
"""Lists are asked for without a resourceVersion: a server answers what is there."""
EVERY_MOMENT: Final = bool(os.environ.get("KAPY_SOAK"))


async def init(client: Client, releases: Releases) -> None:
    providers = RequestedProviders(
        {ProviderType.INFRASTRUCTURE: ["acme:v1.0.0"], ProviderType.CORE: ["cluster-api:v1.0.0"]}
    )
    await install.init(
        client, releases.config(), providers, clock=loop_clock(), progress=no_progress
    )


async def upgrade_all(client: Client, releases: Releases) -> None:
    target = Target(contract=CONTRACT)
    await upgrade(client, releases.config(), target, clock=loop_clock(), progress=no_progress)


async def delete_all(client: Client, _: Releases) -> None:
    everything = Deletion(everything=True, include_namespace=True, include_crds=True)
    await delete(client, everything, progress=no_progress)


async def renew_all(client: Client, _: Releases) -> None:
    await renew(client, now=loop_clock()(), anew=True)


async def nothing(_: Client, __: Releases) -> None: ...


@pytest.mark.parametrize("acted_on", [False, True], ids=["request lost", "answer lost"])
@pytest.mark.parametrize(
    ("before", "work"),
    [(nothing, init), (init, upgrade_all), (init, delete_all), (init, renew_all)],
    ids=["init", "upgrade", "delete", "renew"],
)
async def test_interrupted_commands_complete_when_run_again(
    before: Work, work: Work, *, acted_on: bool, tmp_path: Path
) -> None:
    releases = Releases(tmp_path)
    releases.add(*ACME, "v1.0.1")
    releases.add(*CORE, "v1.0.1")
    async with management_cluster() as client:
        await before(client, releases)
        whole = Life()
        await work(whole.client(client), releases)
        wanted = await contents(client)
    for requests in range(int(acted_on), whole.used, 1 if EVERY_MOMENT else whole.used // 4):
        async with management_cluster() as client:
            await before(client, releases)
            with pytest.raises(Killed):
                await work(Life(requests, acted_on=acted_on).client(client), releases)
            await work(client, releases)
            assert await contents(client) == wanted, f"ended after {requests} requests"


async def contents(client: Client) -> dict[str, str]:
    """The objects of providers, with their images, and the versions of the installed providers."""
    kinds = (NAMESPACES, CRDS, DEPLOYMENTS, SERVICES, SECRETS)
    results = {
        f"{kind.kind} {Key.of(document)}": _told(document)
        for kind in kinds
        for document in (await client.list(kind, labels=CLUSTERCTL_LABEL)).items
    }
    installed = await Inventory(client).installed()
    return results | {item.label: item.version for item in installed}


def _told(document: Document) -> str:
    if "deletionTimestamp" in document["metadata"]:
        return "is being deleted"
    template = (document.get("spec") or {}).get("template")
    return str(template["spec"]["containers"][0]["image"]) if template else ""


@pytest.mark.parametrize("seed", range(3))
async def test_network_faults_do_not_change_the_result(seed: int, tmp_path: Path) -> None:
    """Lost requests and answers, conflicts, overload: tried again, at most thrice."""
    releases = Releases(tmp_path)
    releases.add(*ACME, "v1.0.1")
    story: tuple[Work, ...] = (init, upgrade_all, renew_all, delete_all)
    async with management_cluster() as well, management_cluster() as ill:
        bad = Client(Faults(ill.transport, FAULTS, seed=seed), field_manager="kapy")
        for work in story:
            await work(well, releases)
            await _at_last(work, bad, releases)
            assert await contents(ill) == await contents(well)


async def _at_last(work: Work, client: Client, releases: Releases) -> None:
    for attempt in (2, 1, 0):
        try:
            await work(client, releases)
        except KapyError:
            if not attempt:
                raise
        else:
            return
