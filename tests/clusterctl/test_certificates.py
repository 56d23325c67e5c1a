"""Webhooks have certificates without cert-manager, and with it."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import EPOCH, loop_clock
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.certificates import CERTIFICATES, CertificateError, cert_manager
from kapy.clusterctl.certificates.issuing import CERTIFICATE_MARK, issue_secrets, value
from kapy.clusterctl.certificates.own import renew
from kapy.clusterctl.certificates.requests import CertificateRequest, requests_in
from kapy.clusterctl.config import load
from kapy.clusterctl.install import InstallOptions
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.names import CRDS, DEPLOYMENTS, NAMESPACES, SECRETS, Resource
from kapy.kube.pki import KeyPair, facts
from kapy.kube.pki import load as certificate_of
from tests.apiserver.webhooks.webhook_server import serving
from tests.clusterctl.releases import ACME_THINGS, Releases, certificate, crd, management_cluster

LABEL = "infrastructure-acme"
NAMESPACE = f"{LABEL}-system"
LEAF = Key(NAMESPACE, f"{LABEL}-webhook-cert")
AUTHORITY = Key(NAMESPACE, f"{LABEL}-selfsigned-kapy")
NAME = f"{LABEL}-webhook.{NAMESPACE}.svc"
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
YEAR = timedelta(days=365)


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    return Releases(tmp_path)


async def init(client: Client, releases: Releases, **how: Any) -> None:
    providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ["acme"]})
    config = releases.config()
    await install.init(
        client,
        config,
        providers,
        options=InstallOptions(**how),
        clock=loop_clock(),
        progress=no_progress,
    )


async def trusted(client: Client) -> bytes:
    """The bundle that the webhook configuration and the CRD trust."""
    hook = await client.get(WEBHOOKS, Key("", f"{LABEL}-val"))
    definition = await client.get(CRDS, Key("", ACME_THINGS.group_resource))
    conversion = definition["spec"]["conversion"]["webhook"]
    (item,) = {
        hook["webhooks"][0]["clientConfig"]["caBundle"],
        conversion["clientConfig"]["caBundle"],
    }
    return b64decode(item)


async def pair(client: Client, key: Key = LEAF) -> KeyPair:
    secret = await client.get(SECRETS, key)
    return KeyPair(value(secret, "tls.crt"), value(secret, "tls.key"))


@pytest.mark.sockets
async def test_a_webhook_is_trusted_where_there_is_no_cert_manager(releases: Releases) -> None:
    """The API server asks it over TLS, by the name of its Service."""
    places: dict[tuple[str, str, int], str] = {}
    async with management_cluster(services=places) as client:
        await init(client, releases)
        entry = [
            {
                "apiGroups": ["*"],
                "apiVersions": ["*"],
                "operations": ["CREATE"],
                "resources": ["acmethings"],
            }
        ]
        webhook = (await client.get(WEBHOOKS, Key("", f"{LABEL}-val")))["webhooks"][0]
        strict = {**webhook, "rules": entry, "failurePolicy": "Fail"}
        await client.patch(WEBHOOKS, Key("", f"{LABEL}-val"), {"webhooks": [strict]})
        async with serving(leaf=await pair(client)) as hooks:
            hooks.answers["/x"] = lambda _: {"allowed": False, "status": {"message": "not today"}}
            places[NAMESPACE, f"{LABEL}-webhook", 0] = hooks.base
            thing: Document = {
                "apiVersion": ACME_THINGS.api_version,
                "kind": "AcmeThing",
                "metadata": {"name": "one", "namespace": NAMESPACE},
            }
            with pytest.raises(ApiError, match="not today"):
                await client.create(ACME_THINGS, thing)


async def test_the_secret_is_the_one_that_the_provider_mounts(releases: Releases) -> None:
    async with management_cluster() as client:
        await init(client, releases)
        secret = await client.get(SECRETS, LEAF)
        assert secret["type"] == "kubernetes.io/tls"
        result = facts(value(secret, "tls.crt"))
        assert NAME in result.names
        assert result.not_after - EPOCH > 9 * YEAR
        authority = certificate_of(value(secret, "ca.crt"))
        certificate_of(value(secret, "tls.crt")).verify_directly_issued_by(authority)
        assert await trusted(client) == value(secret, "ca.crt")
        with pytest.raises(ApiError):
            await client.list(CERTIFICATES)


async def test_valid_certificates_stay_and_expiring_ones_are_renewed(releases: Releases) -> None:
    async with management_cluster() as client:
        await init(client, releases)
        first, bundle = await pair(client), await trusted(client)
        assert await renew(client, now=EPOCH + 5 * YEAR) == []
        assert await pair(client) == first
        assert len(await renew(client, now=EPOCH + 8 * YEAR)) == 8
        second = await pair(client)
        both = await trusted(client)
    assert second != first
    # A server that does not have its new certificate yet is still trusted.
    assert both.endswith(bundle)
    assert both != bundle


async def test_a_requested_renewal_issues_all_certificates_again(releases: Releases) -> None:
    async with management_cluster() as client:
        await init(client, releases)
        before = await pair(client, AUTHORITY)
        renewed = await renew(client, now=EPOCH, anew=True)
        assert {LEAF, AUTHORITY} < set(renewed)
        assert await pair(client, AUTHORITY) != before


async def test_cert_manager_issues_certificates_where_it_is_installed(releases: Releases) -> None:
    async with management_cluster() as client:
        for name in ("Certificate", "Issuer"):
            await client.create(CRDS, crd("cert-manager.io", name, versions=("v1",)))
        await init(client, releases)
        request = (await client.list(CERTIFICATES, NAMESPACE)).items
        assert [document["spec"]["secretName"] for document in request] == [LEAF.name]
        assert (await client.list(SECRETS, labels=CERTIFICATE_MARK)).items == []
        namespaces = {
            document["metadata"]["name"]
            for document in (await client.list(NAMESPACES)).items
            if "deletionTimestamp" not in document["metadata"]
        }
        assert "cert-manager-test" not in namespaces


MANIFEST = """
apiVersion: v1
kind: Namespace
metadata: {name: cert-manager}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec: {group: cert-manager.io, scope: Namespaced, names: {kind: Certificate, plural: certificates},
       versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
                   x-kubernetes-preserve-unknown-fields: true}}}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: issuers.cert-manager.io}
spec: {group: cert-manager.io, scope: Namespaced, names: {kind: Issuer, plural: issuers},
       versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
                   x-kubernetes-preserve-unknown-fields: true}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cert-manager, namespace: cert-manager}
spec:
  selector: {matchLabels: {app: c}}
  template:
    metadata: {labels: {app: c}}
    spec: {containers: [{name: c, image: "quay.io/jetstack/cert-manager-controller:VERSION"}]}
"""


def configured(folder: Path, version: str) -> Any:
    place = folder / "cert-manager" / version
    place.mkdir(parents=True, exist_ok=True)
    (place / "cert-manager.yaml").write_text(MANIFEST.replace("VERSION", version))
    file = folder / "clusterctl.yaml"
    url = folder / "cert-manager" / version / "cert-manager.yaml"
    file.write_text(f"cert-manager: {{url: '{url}', version: {version}}}")
    return load(str(file), {"HOME": str(folder)})


async def test_cert_manager_is_installed_and_upgraded_as_upstream_does(tmp_path: Path) -> None:
    key = Key("cert-manager", "cert-manager")
    async with management_cluster(controllers=True) as client:
        old = configured(tmp_path, "v1.20.0")
        assert await cert_manager.images(client, old) == [
            "quay.io/jetstack/cert-manager-controller:v1.20.0"
        ]
        await cert_manager.ensure_installed(client, old, no_progress)
        assert await cert_manager.images(client, old) == []
        await cert_manager.ensure_latest(client, old, no_progress)
        before = await client.get(DEPLOYMENTS, key)
        new = configured(tmp_path, "v1.21.1")
        plan = await cert_manager.plan(client, new)
        assert (plan.current, plan.target, plan.needed) == ("v1.20.0", "v1.21.1", True)
        await cert_manager.ensure_latest(client, new, no_progress)
        after = await client.get(DEPLOYMENTS, key)
        assert (await cert_manager.plan(client, new)).needed is False
        assert (await cert_manager.plan(client, old)).needed is False
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_a_foreign_cert_manager_is_left_alone(tmp_path: Path) -> None:
    async with management_cluster() as client:
        config = configured(tmp_path, "v1.21.1")
        assert (await cert_manager.plan(client, config)).external


def one(**more: Any) -> CertificateRequest:
    return replace(
        CertificateRequest(
            "ns",
            "c-serving",
            "c-webhook-cert",
            "c-selfsigned-kapy",
            "c-webhook.ns.svc",
            ("c-webhook.ns.svc",),
        ),
        **more,
    )


ISSUER: Document = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Issuer",
    "metadata": {"name": "c-selfsigned", "namespace": "ns"},
    "spec": {"selfSigned": {}},
}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, one()),
        ({"commonName": "c"}, one(common_name="c")),
        ({"usages": ["client auth", "digital signature"]}, one(usages=("client",))),
        ({"usages": ["server auth", "client auth"]}, one(usages=("client", "server"))),
        ({"privateKey": {"algorithm": "RSA", "size": 4096}}, one(algorithm="RSA-4096")),
        ({"privateKey": {"algorithm": "ECDSA"}}, one(algorithm="ECDSA-P256")),
        ({"subject": {"organizations": ["o"]}}, one(organizations=("o",))),
        ({"isCA": True}, one(authority="c-webhook-cert")),
        ({"ipAddresses": ["10.0.0.1"]}, one(names=("c-webhook.ns.svc", "10.0.0.1"))),
    ],
)
def test_a_certificate_object_is_parsed_into_a_request(
    spec: Document, wanted: CertificateRequest
) -> None:
    assert requests_in([ISSUER, certificate("c", "ns", **spec)]) == [wanted]
    assert CertificateRequest.of(wanted.document()) == wanted


def issuer(**spec: Any) -> Document:
    return {**ISSUER, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "sentence"),
    [
        ([certificate("c", "ns")], "is not among the provider's components"),
        ([issuer(acme={}), certificate("c", "ns")], "neither selfSigned nor of a ca"),
        (
            [ISSUER, certificate("c", "ns", privateKey={"algorithm": "Ed25519"})],
            "asks for a key of Ed25519",
        ),
    ],
)
def test_features_of_cert_manager_alone_are_reported(
    objects: Sequence[Document], sentence: str
) -> None:
    with pytest.raises(CertificateError, match=sentence) as refused:
        requests_in(objects)
    assert "--certificates=cert-manager" in str(refused.value)


def test_a_chain_of_issuers_is_one_authority() -> None:
    """A certificate that signs itself signs the others, as an Issuer of its Secret asks for."""
    root = certificate("root", "ns", isCA=True, secretName="root", commonName="root")
    root["spec"]["issuerRef"] = {"name": "c-selfsigned"}
    of_root = {**issuer(ca={"secretName": "root"})}
    of_root["metadata"] = {"name": "of-root", "namespace": "ns"}
    leaf = certificate("c", "ns", issuerRef={"name": "of-root"})
    requests = requests_in([leaf, of_root, ISSUER, root])
    secrets = issue_secrets(requests, {}, now=EPOCH, labels={})
    by_name = {Key.of(secret).name: secret for secret in secrets.secrets}
    assert set(by_name) == {"root", "c-webhook-cert"}
    authority = certificate_of(value(by_name["root"], "tls.crt"))
    certificate_of(value(by_name["c-webhook-cert"], "tls.crt")).verify_directly_issued_by(authority)
    held = {Key.of(secret): secret for secret in secrets.secrets}
    assert issue_secrets(requests, held, now=EPOCH + YEAR, labels={}).secrets == []
    changed = [replace(request, names=(*request.names, "other")) for request in requests]
    again = issue_secrets(changed, held, now=EPOCH, labels={}).secrets
    assert [Key.of(document).name for document in again] == ["c-webhook-cert"]
