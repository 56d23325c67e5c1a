"""An author's rules hold for whoever writes, in process and over HTTPS, in the same words."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import Server
from kapy.apps.https.certificate import certificate_in
from kapy.apps.https.serving import serve
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, Resource
from kapy.sdk.admission_configurations import crd_conversion, webhook_configurations
from kapy.sdk.admission_in_process import InProcess, conversion
from kapy.sdk.admission_versions import CannotConvert
from kapy.sdk.admission_webhooks import Webhooks
from kapy.testing.frozen import Frozen
from kapy.testing.provider_bench import permissive
from tests.sdk.paper_rules import RULES, Sheet, SheetTemplate

SHEETS, TEMPLATES = Sheet.RESOURCE, SheetTemplate.RESOURCE
OLD_SHEETS = replace(SHEETS, version="v1")
CONFIGURATIONS = "admissionregistration.k8s.io"
A_DRY_RUN = {"topology.cluster.x-k8s.io/dry-run": ""}


@pytest_asyncio.fixture(
    params=["in process", pytest.param("over HTTPS", marks=pytest.mark.sockets)]
)
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    """A server that keeps the rules, one way or the other."""
    where = _webhooks if request.param == "over HTTPS" else _in_process
    async with where(tmp_path) as client:
        yield client


@asynccontextmanager
async def _in_process(_: Path) -> AsyncIterator[Client]:
    server = Server.open(
        None, clock=loop_clock(), admission=[InProcess(RULES)], convert=conversion(RULES)
    )
    async with _serving(server) as client:
        await _define(client, {})
        yield client


@asynccontextmanager
async def _webhooks(folder: Path) -> AsyncIterator[Client]:
    certificate = await certificate_in(folder, ["127.0.0.1"], lambda: datetime.now(UTC))  # noqa: TID251
    async with serve(Webhooks(RULES), certificate) as (host, port):
        at = {
            "url": f"https://{host}:{port}",
            "caBundle": b64encode(certificate.ca).decode(),
        }
        async with _serving(Server.open(None, clock=loop_clock())) as client:
            await _define(client, at)
            for document in webhook_configurations(RULES, "paper", at):
                plural = f"{document['kind'].lower()}s"
                await client.create(
                    Resource(CONFIGURATIONS, "v1", plural, document["kind"], namespaced=False),
                    document,
                )
            yield client


@asynccontextmanager
async def _serving(server: Server) -> AsyncIterator[Client]:
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(server.run())
            await asyncio.sleep(0)
            yield Client(Frozen(server.transport(ADMIN)))
            task.cancel()
    finally:
        server.close()


async def _define(client: Client, webhooks: Document) -> None:
    for resource in (SHEETS, TEMPLATES):
        crd = permissive(resource)
        if resource == SHEETS:
            (only,) = crd["spec"]["versions"]
            crd["spec"]["versions"].append({**only, "name": "v1", "storage": False})
            document = crd_conversion(RULES, resource, webhooks) if webhooks else None
            if document is not None:
                crd["spec"]["conversion"] = document
        await client.create(CRDS, crd)


def sheet(version: str = "v2", **spec: object) -> Document:
    metadata = {"name": "one", "namespace": "default"}
    api_version = f"{SHEETS.group}/{version}"
    return {"apiVersion": api_version, "kind": "Sheet", "metadata": metadata, "spec": spec}


def template(labels: Document | None = None, **spec: object) -> Document:
    inner: Document = {"metadata": {"labels": labels or {}}, "spec": spec}
    document = sheet()
    return {**document, "kind": "SheetTemplate", "spec": {"template": inner}}


async def refusal(writing: object) -> str:
    with pytest.raises(ApiError) as caught:
        await writing  # type: ignore[misc]
    return f"{caught.value.code} {caught.value}"


def denied(kind: str, why: str, code: int = 422) -> str:
    about = f'{kind}.{SHEETS.group} "one" is invalid: ' if code == 422 else ""
    name = f"validation.{kind.lower()}.{SHEETS.group}"
    return f'{code} admission webhook "{name}" denied the request: {about}{why}'


async def test_defaults_are_filled_in_and_nothing_else_changes(client: Client) -> None:
    await client.create(SHEETS, sheet(sheets=2, unknown={"kept": True}))
    await client.create(TEMPLATES, template(sheets=1))
    stored = await client.get(SHEETS, Key("default", "one"))
    assert stored["spec"] == {"sheets": 2, "colour": "white", "unknown": {"kept": True}}
    stored = await client.get(TEMPLATES, Key("default", "one"))
    assert stored["spec"]["template"]["spec"] == {"sheets": 1, "colour": "white"}


async def test_an_invalid_object_is_refused_with_field_and_value(client: Client) -> None:
    assert await refusal(client.create(SHEETS, sheet(sheets=0))) == denied(
        "Sheet", "spec.sheets: Invalid value: 0: a machine has one sheet at least"
    )
    await client.create(SHEETS, sheet(sheets=1))
    change: Document = {"spec": {"colour": "red"}}
    assert await refusal(client.patch(SHEETS, Key("default", "one"), change)) == denied(
        "Sheet", "spec.colour: Forbidden: paper keeps its colour"
    )


async def test_a_template_is_validated_like_its_objects(client: Client) -> None:
    bad = template({"not a label": "x"}, sheets=-1)
    message = await refusal(client.create(TEMPLATES, bad))
    assert 'spec.template.metadata.labels: Invalid value: "not a label"' in message
    assert "spec.template.spec.sheets: Invalid value: -1: a machine has one sheet" in message


async def test_a_template_changes_only_in_the_dry_runs_of_topologies(client: Client) -> None:
    await client.create(TEMPLATES, template(sheets=1))
    key, change = Key("default", "one"), template(sheets=2)
    message = "SheetTemplate spec.template.spec field is immutable. Please create a new resource "
    message = f"spec.template.spec: Invalid value: {message}instead. Diff: sheets"
    request = {**change, "metadata": {**change["metadata"], "annotations": A_DRY_RUN}}
    for document, dry_run in ((change, False), (change, True), (request, False)):
        writing = client.apply(TEMPLATES, document, field_manager="topology", dry_run=dry_run)
        assert await refusal(writing) == denied("SheetTemplate", message)
    tried = await client.apply(TEMPLATES, request, field_manager="topology", dry_run=True)
    assert tried["spec"]["template"]["spec"]["sheets"] == 2
    await client.patch(TEMPLATES, key, {"metadata": {"labels": {"of": "mine"}}})
    assert (await client.get(TEMPLATES, key))["spec"]["template"]["spec"]["sheets"] == 1


async def test_an_authors_mistake_refuses_the_write_and_quotes_nothing(client: Client) -> None:
    message = await refusal(client.create(SHEETS, sheet(sheets=1, colour="octarine")))
    why = "the problems of Sheet failed with LookupError; the provider's log says where"
    assert message == denied("Sheet", why, 500)


async def test_an_older_version_survives_a_round_trip(client: Client) -> None:
    key = Key("default", "one")
    await client.create(SHEETS, sheet(sheets=2, watermark="eagle"))
    old = await client.get(OLD_SHEETS, key)
    assert old["spec"] == {"pages": 2, "colour": "white"}
    written = {**old, "spec": {**old["spec"], "pages": 3}}
    await client.update(OLD_SHEETS, written)
    stored = await client.get(SHEETS, key)
    assert stored["spec"] == {"sheets": 3, "watermark": "eagle", "colour": "white"}
    assert "annotations" not in stored["metadata"]
    assert await refusal(client.patch(OLD_SHEETS, key, {"spec": {"pages": 0}})) == denied(
        "Sheet", "spec.sheets: Invalid value: 0: a machine has one sheet at least"
    )


def test_an_unknown_version_is_an_error_that_lists_the_versions() -> None:
    group = SHEETS.group
    with pytest.raises(CannotConvert, match=f"are {group}/v2, {group}/v1"):
        RULES.convert(sheet(), f"{group}/v3")
