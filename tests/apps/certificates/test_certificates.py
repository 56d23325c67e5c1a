"""Certificates and Issuers that are applied to a plane, at any time and in any order."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.times import moment
from kapy.apps.certificates.controllers import add_certificates
from kapy.apps.certificates.definitions import DEFINITIONS, install_definitions
from kapy.apps.certificates.injection import add_injection
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.certificates import CERTIFICATES, CLUSTER_ISSUERS, ISSUERS
from kapy.clusterctl.certificates.cert_manager import is_there
from kapy.clusterctl.certificates.own import INJECTED_RESOURCES
from kapy.clusterctl.components import CLUSTERCTL_LABEL
from kapy.clusterctl.delete import Deletion, delete
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.waiting import wait_until
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CRDS, NAMESPACES, SECRETS, Resource
from kapy.kube.pki import facts, load, new_ca
from tests.clusterctl.releases import Releases, crd, management_cluster

SERVING = Key("default", "serving")
PAIR = Key("default", "pair")
WEBHOOKS = INJECTED_RESOURCES[1]
LONG = 600.0


@asynccontextmanager
async def plane() -> AsyncIterator[Client]:
    """A server whose Certificates are looked after."""
    async with management_cluster(controllers=True) as client, asyncio.TaskGroup() as group:
        await asyncio.sleep(1)  # the server makes its namespaces
        await install_definitions(client)
        runtime = Runtime.on(client.transport, clock=loop_clock())
        add_injection(add_certificates(runtime))
        running = group.create_task(runtime.run())
        yield client
        running.cancel()


def document(resource: Resource, key: Key, **more: Any) -> Document:
    metadata: Document = {"name": key.name}
    if key.namespace:
        metadata["namespace"] = key.namespace
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **more}


def certificate(key: Key = SERVING, issuer: str = "self", **spec: Any) -> Document:
    reference = {"name": issuer, "kind": spec.pop("kind", "Issuer")}
    wanted = {"secretName": "pair", "dnsNames": ["foo.default.svc"], "issuerRef": reference, **spec}
    return document(CERTIFICATES, key, spec=wanted)


def issuer(name: str = "self", **spec: Any) -> Document:
    return document(ISSUERS, Key("default", name), spec=spec or {"selfSigned": {}})


def ready(value: Document | None, *reasons: str) -> bool:
    conditions = ((value or {}).get("status") or {}).get("conditions") or []
    return any(
        condition["reason"] in reasons if reasons else condition["status"] == "True"
        for condition in conditions
        if condition["type"] == "Ready"
    )


async def when(
    client: Client, resource: Resource, key: Key, holds: Callable[[Document | None], Any]
) -> Document:
    wait = await wait_until(client, resource, key, holds, within=LONG)
    assert wait is not None
    return wait


async def issued(client: Client, key: Key = SERVING) -> Document:
    return await when(client, CERTIFICATES, key, ready)


async def secret(client: Client, key: Key = PAIR) -> dict[str, bytes]:
    result = await client.get(SECRETS, key)
    return {name: b64decode(value) for name, value in result["data"].items()}


def signed_by(certificate: bytes, authority: bytes) -> bool:
    value, other = load(certificate), load(authority)
    try:
        value.verify_directly_issued_by(other)
    except Exception:
        return False
    return True


def message(value: Document) -> str:
    (item,) = (
        condition for condition in value["status"]["conditions"] if condition["type"] == "Ready"
    )
    return str(item["message"])


async def test_a_certificate_gets_its_secret_once_its_issuer_exists() -> None:
    async with plane() as client:
        await client.create(CERTIFICATES, certificate())
        waiting = await when(
            client, CERTIFICATES, SERVING, lambda item: ready(item, "IssuerNotFound")
        )
        assert message(waiting).startswith("Referenced Issuer 'self' does not exist")
        with pytest.raises(NotFound):
            await client.get(SECRETS, PAIR)
        await client.create(ISSUERS, issuer())
        done = await issued(client)
        held = await secret(client)
        secret_facts = facts(held["tls.crt"])
        assert secret_facts.names == ("foo.default.svc",)
        assert signed_by(held["tls.crt"], held["ca.crt"])
        status = done["status"]
        assert status["revision"] == 1
        assert (moment(status["notBefore"]), moment(status["notAfter"])) == (
            secret_facts.not_before,
            secret_facts.not_after,
        )
        life = secret_facts.not_after - secret_facts.not_before
        assert abs(life - timedelta(days=90)) < timedelta(hours=1)
        assert abs(moment(status["renewalTime"]) - (secret_facts.not_after - life / 3)) < timedelta(
            seconds=2
        )
        assert message(done) == "Certificate is up to date and has not expired"
        assert ready(await when(client, ISSUERS, Key("default", "self"), ready), "IsReady")


async def test_a_certificate_is_renewed_in_time_and_its_authority_stays() -> None:
    async with plane() as client:
        await client.create(ISSUERS, issuer())
        await client.create(CERTIFICATES, certificate(duration="1h", renewBefore="10m"))
        first = await issued(client)
        before = await secret(client)
        renewal = moment(first["status"]["renewalTime"])
        assert moment(first["status"]["notAfter"]) - renewal == timedelta(minutes=10)
        await asyncio.sleep(45 * 60)
        assert await secret(client) == before
        second = await when(
            client, CERTIFICATES, SERVING, lambda item: item and item["status"]["revision"] == 2
        )
        after = await secret(client)
        assert after["tls.crt"] != before["tls.crt"]
        assert after["ca.crt"] == before["ca.crt"]
        assert moment(second["status"]["notAfter"]) > moment(first["status"]["notAfter"])


async def test_a_changed_request_or_a_lost_secret_causes_a_new_certificate() -> None:
    async with plane() as client:
        await client.create(ISSUERS, issuer())
        await client.create(CERTIFICATES, certificate())
        await issued(client)
        names = {"spec": {"dnsNames": ["bar.default.svc"]}}
        await client.patch(CERTIFICATES, SERVING, names)
        await when(
            client, CERTIFICATES, SERVING, lambda item: item and item["status"]["revision"] == 2
        )
        assert facts((await secret(client))["tls.crt"]).names == ("bar.default.svc",)
        await client.delete(SECRETS, PAIR)
        await when(
            client, CERTIFICATES, SERVING, lambda item: item and item["status"]["revision"] == 3
        )
        assert facts((await secret(client))["tls.crt"]).names == ("bar.default.svc",)


@pytest.mark.parametrize("kind", ["Issuer", "ClusterIssuer"])
async def test_an_authority_of_a_secret_signs(kind: str) -> None:
    pair = new_ca("mine", now=loop_clock()(), algorithm="ECDSA-P256")
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    namespace = "default" if kind == "Issuer" else "cert-manager"
    held = document(SECRETS, Key(namespace, "mine"), type="kubernetes.io/tls")
    held["data"] = {name: b64encode(content).decode() for name, content in data.items()}
    resource, key = (ISSUERS, Key("default", "ca")) if kind == "Issuer" else (
        CLUSTER_ISSUERS, Key("", "ca"))  # fmt: skip
    async with plane() as client:
        await client.create(resource, document(resource, key, spec={"ca": {"secretName": "mine"}}))
        await client.create(CERTIFICATES, certificate(issuer="ca", kind=kind))
        result = await when(client, resource, key, lambda item: ready(item, "ErrGetKeyPair"))
        assert f"the Secret {namespace}/mine does not exist" in message(result)
        waiting = await when(
            client, CERTIFICATES, SERVING, lambda item: ready(item, "ErrGetKeyPair")
        )
        assert "does not exist" in message(waiting)
        if kind == "ClusterIssuer":
            await client.create(NAMESPACES, document(NAMESPACES, Key("", namespace)))
        await client.create(SECRETS, held)
        assert message(await when(client, resource, key, ready)) == "Signing CA verified"
        await issued(client)
        got = await secret(client)
        assert got["ca.crt"] == pair.certificate
        assert signed_by(got["tls.crt"], pair.certificate)
        assert (await secret(client, Key(namespace, "mine"))) == data, "it is not ours to change"


async def test_an_authority_that_is_issued_signs_others() -> None:
    async with plane() as client:
        await client.create(ISSUERS, issuer("ca", ca={"secretName": "root"}))
        await client.create(CERTIFICATES, certificate(issuer="ca"))
        await client.create(ISSUERS, issuer())
        root = Key("default", "root")
        await client.create(CERTIFICATES, certificate(root, isCA=True, secretName="root"))
        await issued(client, root)
        await issued(client)
        leaf = await secret(client)
        assert leaf["ca.crt"] == (await secret(client, root))["tls.crt"]
        assert signed_by(leaf["tls.crt"], leaf["ca.crt"])


BROKEN: list[tuple[Document, str]] = [
    (certificate(issuer="acme"), "of the types selfSigned and ca, and this one is of acme"),
    (certificate(keystores={"jks": {}}), "spec.keystores is not supported by this plane"),
    (certificate(duration="long"), "spec.duration 'long' is no duration"),
    (certificate(privateKey={"algorithm": "Ed25519"}), "asks for a key of Ed25519"),
    (certificate(subject="me"), "cannot be issued as it is"),
    (certificate(secretName="opaque"), "type"),
    (certificate(secretName="theirs"), "was issued for Certificate 'other'"),
]


@pytest.mark.parametrize(("wrong", "said"), BROKEN, ids=[entry[1][:24] for entry in BROKEN])
async def test_a_certificate_that_cannot_be_issued_reports_the_reason(
    wrong: Document, said: str
) -> None:
    opaque = document(SECRETS, Key("default", "opaque"), type="Opaque", data={"mine": "eA=="})
    theirs = document(SECRETS, Key("default", "theirs"), data={})
    theirs["metadata"]["annotations"] = {"cert-manager.io/certificate-name": "other"}
    async with plane() as client:
        await client.create(SECRETS, opaque)
        await client.create(SECRETS, theirs)
        await client.create(ISSUERS, issuer())
        await client.create(ISSUERS, issuer("acme", acme={"server": "x"}))
        await client.create(CERTIFICATES, wrong)
        result = await when(
            client,
            CERTIFICATES,
            SERVING,
            lambda item: item and item.get("status") and not ready(item),
        )
        assert said in message(result)
        assert (await client.get(SECRETS, Key("default", "opaque")))["data"] == {"mine": "eA=="}


def webhooks(annotations: dict[str, str]) -> Document:
    result = document(WEBHOOKS, Key("", "guard"))
    result["metadata"]["annotations"] = annotations
    client = {"service": {"namespace": "default", "name": "foo"}}
    result["webhooks"] = [
        {
            "name": f"{name}.example.dev",
            "clientConfig": client,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in ("one", "two")
    ]
    return result


def bundles(value: Document | None) -> set[str]:
    return {
        str(webhook["clientConfig"].get("caBundle", ""))
        for webhook in (value or {}).get("webhooks") or []
    }


async def test_annotated_webhooks_and_conversions_get_the_current_ca_bundle() -> None:
    async with plane() as client:
        asking = webhooks({"cert-manager.io/inject-ca-from": "default/serving"})
        await client.create(WEBHOOKS, asking)
        conversion = crd(
            "example.dev", "Foo", client={"service": {"namespace": "default", "name": "foo"}},
            annotations={"cert-manager.io/inject-ca-from": "default/serving"},
        )  # fmt: skip
        await client.create(CRDS, conversion)
        await client.create(ISSUERS, issuer())
        await client.create(CERTIFICATES, certificate())
        await issued(client)
        guard = Key("", "guard")
        first = b64encode((await secret(client))["ca.crt"]).decode()
        await when(client, WEBHOOKS, guard, lambda item: bundles(item) == {first})

        def is_trusting(item: Document | None) -> bool:
            webhook = (item or {})["spec"]["conversion"]["webhook"]
            return bool(webhook["clientConfig"].get("caBundle") == first)

        await when(client, CRDS, Key.of(conversion), is_trusting)
        await client.delete(SECRETS, Key("default", "self-kapy"))
        await client.delete(SECRETS, PAIR)
        await when(client, WEBHOOKS, guard, lambda item: bundles(item) not in ({first}, {""}))
        second = b64encode((await secret(client))["ca.crt"]).decode()
        await when(client, WEBHOOKS, guard, lambda item: bundles(item) == {second})


async def test_a_ca_bundle_is_injected_from_a_secret_that_allows_it() -> None:
    async with plane() as client:
        held = document(SECRETS, PAIR, data={"ca.crt": b64encode(b"trusted").decode()})
        await client.create(SECRETS, held)
        asking = {"cert-manager.io/inject-ca-from-secret": str(PAIR)}
        await client.create(WEBHOOKS, webhooks(asking))
        await asyncio.sleep(60)
        assert bundles(await client.get(WEBHOOKS, Key("", "guard"))) == {""}
        allowed = {"annotations": {"cert-manager.io/allow-direct-injection": "true"}}
        await client.patch(SECRETS, PAIR, {"metadata": allowed})
        wanted = {b64encode(b"trusted").decode()}
        await when(client, WEBHOOKS, Key("", "guard"), lambda item: bundles(item) == wanted)


async def test_cert_manager_itself_takes_over() -> None:
    async with plane() as client:
        assert not await is_there(client)
        labels = {"metadata": {"labels": {"app.kubernetes.io/name": "cert-manager"}}}
        await client.patch(CRDS, Key("", CERTIFICATES.group_resource), labels)
        assert await is_there(client)
        await asyncio.sleep(1)
        await client.create(ISSUERS, issuer())
        await client.create(CERTIFICATES, certificate())
        await asyncio.sleep(LONG)
        assert "status" not in await client.get(CERTIFICATES, SERVING)
        await install_definitions(client)
        result = await client.get(CRDS, Key("", CERTIFICATES.group_resource))
        assert "labels" in result["metadata"]


async def test_a_release_keeps_its_certificates_and_they_are_up_to_date(tmp_path: Path) -> None:
    releases = Releases(tmp_path)
    providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ["acme:v1.0.0"]})
    label = "infrastructure-acme"
    key = Key(f"{label}-system", f"{label}-serving")
    async with plane() as client:
        config = releases.config()
        await install.init(client, config, providers, clock=loop_clock(), progress=no_progress)
        result = await client.get(SECRETS, Key(key.namespace, f"{label}-webhook-cert"))
        results = await issued(client, key)
        assert CLUSTERCTL_LABEL in results["metadata"]["labels"]
        again = await client.get(SECRETS, Key.of(result))
        assert result["data"] == again["data"], "what init has issued is good"
        trust = await client.get(WEBHOOKS, Key("", f"{label}-val"))
        assert bundles(trust) == {result["data"]["ca.crt"]}
        everything = Deletion(everything=True, include_namespace=True, include_crds=True)
        await delete(client, everything, progress=no_progress)
        names = {item["metadata"]["name"] for item in (await client.list(CRDS)).items}
        assert {definition["metadata"]["name"] for definition in DEFINITIONS} <= names
        assert (await client.list(CERTIFICATES)).items == []
