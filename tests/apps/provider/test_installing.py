"""A provider's kinds in a server: put there, found, or missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.apps.provider.installing import (
    MissingKinds,
    check_kinds,
    install_kinds,
    install_webhooks,
    remove_webhooks,
)
from kapy.client.client import Client
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, Resource
from kapy.sdk import KindRules, Rulebook
from tests.apps.provider.test_release import KINDS, PAPER, SheetMachine

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


async def test_missing_kinds_are_reported_until_they_are_installed() -> None:
    server = Server.open(None, clock=loop_clock())
    async with run_services(server=server.run):
        client = Client(server.transport(ADMIN))
        with pytest.raises(
            MissingKinds, match=r"here knows no sheetclusters .* `kapy init --infra"
        ):
            await check_kinds(client, PAPER, "here")
        for _ in range(2):  # a second time changes nothing
            await install_kinds(client, PAPER)
        await check_kinds(client, PAPER, "here")
        assert len((await client.list(CRDS)).items) == len(KINDS)
    server.close()


async def test_webhook_configurations_exist_while_the_program_runs() -> None:
    server = Server.open(None, clock=loop_clock())
    provider = replace(PAPER, admission=Rulebook(KindRules(SheetMachine)))
    async with run_services(server=server.run):
        client = Client(server.transport(ADMIN))
        for port in (1, 2):  # what an earlier program left is replaced
            await install_webhooks(client, provider, f"https://127.0.0.1:{port}", "cGVt")
        [document] = (await client.list(WEBHOOKS)).items
        [webhook] = document["webhooks"]
        assert webhook["clientConfig"]["url"] == "https://127.0.0.1:2/validate"
        for _ in range(2):
            await remove_webhooks(client, provider)
        assert not (await client.list(WEBHOOKS)).items
    server.close()
