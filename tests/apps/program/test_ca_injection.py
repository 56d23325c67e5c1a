"""Tests of CA injection into CRDs and webhook configurations, and of cert-manager's annotation."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.api.names import Label
from kapy.apiserver.server import Server
from kapy.apps.program.ca_injection import VALIDATING, CAInjector
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, Resource
from kapy.kube.nested import value_at
from kapy.kube.pki import new_ca

SERVICE: Final = Key("capi-system", "capi-webhook-service")
PROVIDER: Final = "cluster-api"
FROM: Final = {"cert-manager.io/inject-ca-from": "capi-system/capi-serving-cert"}
FROM_SECRET: Final = {"cert-manager.io/inject-ca-from-secret": "capi-system/theirs"}
OURS: Final = "our CA"
OLD: Final = "a former CA"
NONE: Final = ""


@cache
def pem(name: str) -> bytes:
    return new_ca(name, now=loop_clock()(), algorithm="ECDSA-P256").certificate if name else b""


@dataclass
class Source:
    """The CA of the served certificate."""

    is_own_ca: bool
    name: str = OURS

    @property
    def ca(self) -> bytes:
        return pem(self.name)


def crd(bundle: str, annotations: Mapping[str, str], service: str = SERVICE.name) -> Document:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": _metadata("things.example.com", annotations),
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": _client_config(bundle, service),
                },
            },
        },
    }


def webhooks(bundle: str, annotations: Mapping[str, str], service: str = SERVICE.name) -> Document:
    return {
        "apiVersion": VALIDATING.api_version,
        "kind": VALIDATING.kind,
        "metadata": _metadata("things", annotations),
        "webhooks": [
            {
                "name": "things.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "rules": [],
                "clientConfig": _client_config(bundle, service),
            }
        ],
    }


def _metadata(name: str, annotations: Mapping[str, str]) -> Document:
    labels = {Label.PROVIDER: PROVIDER}
    return {"name": name, "labels": labels, "annotations": {**annotations, "mine": "kept"}}


def _client_config(bundle: str, service: str) -> Document:
    config: Document = {"service": {"namespace": SERVICE.namespace, "name": service, "path": "/x"}}
    return {**config, "caBundle": b64encode(pem(bundle)).decode()} if bundle else config


def bundle_of(document: Document) -> str:
    if document["kind"] == CRDS.kind:
        config = value_at(document, ("spec", "conversion", "webhook", "clientConfig"))
    else:
        config = document["webhooks"][0]["clientConfig"]
    bundle = b64decode((config or {}).get("caBundle", ""))
    return {pem(name): name for name in (OURS, OLD, NONE)}[bundle]


@asynccontextmanager
async def api_server() -> AsyncIterator[Server]:
    server = Server.open(None, clock=loop_clock())
    try:
        async with run_services(server=server.run):
            yield server
    finally:
        server.close()


KINDS = {"crd": (CRDS, crd), "webhooks": (VALIDATING, webhooks)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("is_own", "annotations", "before", "after", "annotations_after"),
    [
        (True, {}, NONE, OURS, {}),
        (False, {}, OLD, OURS, {}),
        # A release with cert-manager was here before, and its Certificate is gone.
        (True, FROM, NONE, OURS, {}),
        (True, FROM, OLD, OURS, {}),
        (True, FROM_SECRET, OLD, OURS, {}),
        (True, FROM, OURS, OURS, {}),
        # cert-manager issued what is served: it may know better, but nobody needs an empty bundle.
        (False, FROM, OLD, OLD, FROM),
        (False, FROM, NONE, OURS, FROM),
    ],
)
async def test_cert_managers_annotation_counts_as_long_as_it_issues_the_certificate(
    kind: str,
    is_own: bool,
    annotations: dict[str, str],
    before: str,
    after: str,
    annotations_after: dict[str, str],
) -> None:
    resource, document = KINDS[kind]
    result = await _injected(resource, document(before, annotations), Source(is_own))
    assert bundle_of(result) == after
    assert result["metadata"]["annotations"] == {**annotations_after, "mine": "kept"}


@pytest.mark.parametrize("kind", KINDS)
async def test_clients_of_another_service_are_left_alone(kind: str) -> None:
    resource, document = KINDS[kind]
    source_object = document(OLD, FROM, service="theirs")
    result = await _injected(resource, source_object, Source(is_own_ca=True))
    assert bundle_of(result) == OLD
    assert result["metadata"]["annotations"] == {**FROM, "mine": "kept"}


async def test_a_ca_that_becomes_our_own_replaces_the_one_that_was_left_behind() -> None:
    async with api_server() as server:
        client, source = Client(server.transport(ADMIN)), Source(is_own_ca=False, name=OLD)
        await client.create(CRDS, crd(OLD, FROM))
        runtime = _runtime(server)
        injector = CAInjector(runtime, SERVICE, PROVIDER, source)
        async with run_services(runtime=runtime.run):
            await asyncio.sleep(5)
            source.is_own_ca, source.name = True, OURS
            injector.on_ca_change()
            await asyncio.sleep(5)
        result = await client.get(CRDS, Key("", "things.example.com"))
        assert bundle_of(result) == OURS
        assert result["metadata"]["annotations"] == {"mine": "kept"}


async def _injected(resource: Resource, source_object: Document, source: Source) -> Document:
    """Create an object, run the CAInjector, and return the stored object."""
    async with api_server() as server:
        client = Client(server.transport(ADMIN))
        created = await client.create(resource, deepcopy(source_object))
        runtime = _runtime(server)
        CAInjector(runtime, SERVICE, PROVIDER, source)
        async with run_services(runtime=runtime.run):
            await asyncio.sleep(5)
        return await client.get(resource, Key.of(created))


def _runtime(server: Server) -> Runtime:
    return Runtime.on(
        server.transport(ADMIN), clock=loop_clock(), field_manager="core", random=Random(1)
    )
