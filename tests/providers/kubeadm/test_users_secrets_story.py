"""Secrets that a user provides: certificates, a kubeconfig, an external etcd."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.kube import Document, Key
from kapy.kube.meta import OwnerReference
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.kube.pki import KeyPair, new_ca, public_key
from kapy.providers.kubeadm.configuration import read_cluster_configuration
from kapy.remote.kubeconfig_secret import access, kubeconfig_secret, next_renewal
from kapy.remote.secrets import certificate_secret
from tests.providers.kubeadm.awaiting import at, change, replaced, status_of, until
from tests.providers.kubeadm.peer_controllers import CLUSTER, PeerControllers

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
EXTERNAL: Final = {
    "endpoints": ["https://etcd.example.com:2379"],
    "caFile": "/etc/kubernetes/pki/etcd/ca.crt",
    "certFile": "/etc/kubernetes/pki/apiserver-etcd-client.crt",
    "keyFile": "/etc/kubernetes/pki/apiserver-etcd-client.key",
}
WITH_EXTERNAL_ETCD: Final[dict[str, Any]] = {
    "kubeadmConfigSpec": {
        "clusterConfiguration": {
            "encryptionAlgorithm": "ECDSA-P256",
            "etcd": {"external": EXTERNAL},
        }
    }
}


async def bring(
    peers: PeerControllers, purpose: str, pair: KeyPair, *, key: bool = True, label: bool = False
) -> Document:
    """A certificate as a person stores it: of another type, mostly without our label."""
    secret = certificate_secret(CLUSTER, purpose, pair)
    if not label:
        del secret["metadata"]["labels"]
    secret["type"] = "Opaque"
    if not key:
        del secret["data"]["tls.key"]
    return await peers.plane.client.create(SECRETS, secret)


def authority() -> KeyPair:
    return new_ca("mine", now=NOW, algorithm="ECDSA-P256")


async def user_data(peers: PeerControllers, machine: Machine) -> str:
    secret = await peers.plane.client.get(SECRETS, machine.key)
    return b64decode(secret["data"]["value"]).decode()


async def test_a_users_authority_signs_everything_and_stays_unchanged(
    peers: PeerControllers,
) -> None:
    ca = authority()
    before = await bring(peers, "ca", ca)
    await peers.start()
    await until(peers, at(1))
    after = await peers.plane.client.get(SECRETS, Key("default", "c1-ca"))
    assert after == before
    kubeconfig = await peers.plane.client.get(SECRETS, Key("default", "c1-kubeconfig"))
    assert b64encode(ca.certificate) in b64decode(kubeconfig["data"]["value"])
    (machine,) = await peers.machines()
    indented = ca.certificate.decode().strip().replace("\n", "\n      ")
    assert indented in await user_data(peers, machine)


async def test_a_kubeconfig_of_a_user_is_left_alone(peers: PeerControllers) -> None:
    ca = authority()
    await bring(peers, "ca", ca)
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    server = "https://elsewhere:6443"
    long_ago = datetime(2025, 1, 2, tzinfo=UTC)  # ours would be renewed by now
    secret = kubeconfig_secret(CLUSTER, server, ca, owner, now=long_ago, algorithm="ECDSA-P256")
    secret["type"] = "Opaque"
    del secret["metadata"]["ownerReferences"]
    before = await peers.plane.client.create(SECRETS, secret)
    await peers.start()
    await until(peers, at(1))
    assert await peers.plane.client.get(SECRETS, Key("default", "c1-kubeconfig")) == before


async def test_a_generated_kubeconfig_is_renewed_at_half_of_its_life(
    peers: PeerControllers,
) -> None:
    ca = authority()
    await bring(peers, "ca", ca)
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    long_ago = peers.plane.clock() - timedelta(days=183)
    secret = kubeconfig_secret(
        CLUSTER, "https://10.0.0.1:6443", ca, owner, now=long_ago, algorithm="ECDSA-P256"
    )
    before = await peers.plane.client.create(SECRETS, secret)
    await peers.start()
    kcp = await until(peers, at(1))
    after = await peers.plane.client.get(SECRETS, Key("default", "c1-kubeconfig"))
    assert next_renewal(after) - peers.plane.clock() > timedelta(days=182)
    assert access(after).server == access(before).server
    owners = after["metadata"]["ownerReferences"]
    assert [item["uid"] for item in owners if item.get("controller")] == [kcp.metadata.uid]


async def test_an_external_etcd_is_used_and_not_maintained(peers: PeerControllers) -> None:
    ca, client = authority(), authority()
    await bring(peers, "etcd", ca, key=False)
    await bring(peers, "apiserver-etcd-client", client)
    await peers.start(replicas=3, **WITH_EXTERNAL_ETCD)
    kcp = await until(peers, at(3))
    assert status_of(kcp, "EtcdClusterHealthy") == ""
    texts = []
    for machine in await peers.machines():
        types = {condition.type for condition in machine.status.conditions}
        assert not {name for name in types if name.startswith("Etcd")}
        gates = {gate.condition_type for gate in machine.spec.readiness_gates}
        assert not {gate for gate in gates if gate.startswith("Etcd")}
        text = await user_data(peers, machine)
        assert f"path: {EXTERNAL['keyFile']}" in text
        assert "etcd/ca.key" not in text
        texts.append(text)
    (first,) = [name for name in texts if "kubeadm init" in name]
    assert "external:" in first
    assert "https://etcd.example.com:2379" in first
    await change(peers, {"replicas": 1})
    await until(peers, at(1))
    assert peers.etcd.calls == []


async def test_missing_secrets_of_a_user_are_not_generated(peers: PeerControllers) -> None:
    await peers.start(**WITH_EXTERNAL_ETCD)
    kcp = await until(peers, lambda kcp: status_of(kcp, "CertificatesAvailable") == "Unknown")
    assert kcp.status.deprecated is not None
    assert kcp.status.deprecated.v1beta1 is not None
    (message,) = [
        condition.message
        for condition in kcp.status.deprecated.v1beta1.conditions
        if condition.type == "CertificatesAvailable"
    ]
    assert "Secret default/c1-apiserver-etcd-client" in message
    assert await peers.machines() == []
    await bring(peers, "etcd", authority(), key=False)
    await bring(peers, "apiserver-etcd-client", authority())
    await until(peers, at(1))


async def test_an_unhealthy_machine_with_external_etcd_is_replaced(peers: PeerControllers) -> None:
    await bring(peers, "etcd", authority(), key=False)
    await bring(peers, "apiserver-etcd-client", authority())
    await peers.start(replicas=3, **WITH_EXTERNAL_ETCD)
    await until(peers, at(3))
    (sick, *_) = await peers.machines()
    await peers.find_unhealthy(sick.metadata.name)
    await replaced(peers, sick.metadata.name, 3)
    await until(peers, at(3))


async def test_a_changed_etcd_reaches_kubeadms_configuration(peers: PeerControllers) -> None:
    await bring(peers, "etcd", authority(), key=False)
    await bring(peers, "apiserver-etcd-client", authority())
    await peers.start(**WITH_EXTERNAL_ETCD)
    await until(peers, at(1))
    endpoints = ["https://other.example.com:2379"]
    etcd = {"external": {**EXTERNAL, "endpoints": endpoints}}
    await change(peers, {"kubeadmConfigSpec": {"clusterConfiguration": {"etcd": etcd}}})
    await asyncio.sleep(30)
    stored = await peers.plane.workload.get(CONFIG_MAPS, Key("kube-system", "kubeadm-config"))
    configuration, _ = read_cluster_configuration(stored["data"]["ClusterConfiguration"])
    assert configuration["etcd"]["external"]["endpoints"] == endpoints


LABEL: Final = (
    "(the Secret lacks the label cluster.x-k8s.io/cluster-name: its changes are noticed late)"
)


NO_KUBECONFIG: Final = "the kubeconfig in value cannot be used:"


def kubeconfig_with(text: bytes | None) -> Document:
    """A kubeconfig Secret of a person."""
    data = {} if text is None else {"value": b64encode(text).decode()}
    labels = {"cluster.x-k8s.io/cluster-name": "c1"}
    metadata = {"name": "c1-kubeconfig", "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def unavailable(kcp: KubeadmControlPlane) -> str:
    """Why the certificates are not available, in the words of the condition."""
    conditions = [
        condition
        for condition in kcp.status.conditions
        if condition.type == "CertificatesAvailable"
    ]
    return conditions[0].message if conditions and conditions[0].status == "False" else ""


async def corrected(peers: PeerControllers, secret: Document, data: Document) -> None:
    key, patch = Key.of(secret), {"data": {**dict.fromkeys(secret.get("data") or {}), **data}}
    await peers.plane.client.patch(SECRETS, key, patch)


@pytest.mark.parametrize("labelled", [True, False])
async def test_an_authority_that_cannot_be_used_is_reported_before_anything_is_made(
    peers: PeerControllers, *, labelled: bool
) -> None:
    ca = authority()
    broken = await bring(peers, "ca", KeyPair(ca.certificate, authority().key), label=labelled)
    await peers.start()
    kcp = await until(peers, unavailable)
    assert unavailable(kcp) == (
        "Secrets of the cluster cannot be used:\n* Secret default/c1-ca: tls.key is not the private"
        " key of the certificate in tls.crt" + ("" if labelled else f" {LABEL}")
    )
    await asyncio.sleep(60)
    assert await peers.machines() == []
    secrets = (await peers.plane.client.list(SECRETS, "default")).items
    assert [secret["metadata"]["name"] for secret in secrets] == ["c1-ca"]

    await corrected(peers, broken, certificate_secret(CLUSTER, "ca", ca)["data"])
    await until(peers, at(1))


async def test_all_unusable_secrets_are_named(peers: PeerControllers) -> None:
    ca = authority()
    await bring(peers, "ca", KeyPair(b"garbage", ca.key))
    await bring(peers, "etcd", KeyPair(ca.certificate, b"garbage"))
    await bring(peers, "sa", KeyPair(ca.key, b""), key=False)  # a private key in the wrong place
    proxy = await bring(peers, "proxy", ca)
    await peers.plane.client.patch(SECRETS, Key.of(proxy), {"data": {"tls.crt": None}})
    await peers.start()
    kcp = await until(peers, unavailable)
    lines = [line.removesuffix(f" {LABEL}") for line in unavailable(kcp).splitlines()]
    assert lines == [
        "Secrets of the cluster cannot be used:",
        "* Secret default/c1-ca: tls.crt holds no certificate in PEM form that can be read",
        "* Secret default/c1-sa: tls.crt holds no public key in PEM form that can be read",
        "* Secret default/c1-proxy: missing data for key tls.crt",
        "* Secret default/c1-etcd: tls.key holds no RSA or EC private key in PEM form that can be"
        " read",
    ]
    assert await peers.machines() == []


@pytest.mark.parametrize(
    ("purpose", "signs"),
    [
        ("ca", "the cluster's certificates and kubeconfig"),
        ("etcd", "the certificates of etcd's members and clients"),
        ("proxy", "the API server's certificate for aggregated API servers"),
        ("sa", "the tokens of ServiceAccounts"),
    ],
)
async def test_a_missing_key_is_reported_with_its_use(
    peers: PeerControllers, purpose: str, signs: str
) -> None:
    ca = authority()
    pair = KeyPair(public_key(ca.key), ca.key) if purpose == "sa" else ca
    broken = await bring(peers, purpose, pair, key=False, label=True)
    await peers.start()
    kcp = await until(peers, unavailable)
    assert unavailable(kcp) == (
        f"Secrets of the cluster cannot be used:\n* Secret default/c1-{purpose}: missing data for"
        f" key tls.key, which signs {signs}; where the keys are kept elsewhere, the Secret with"
        " the kubeconfig must be provided too"
    )
    assert await peers.machines() == []
    await corrected(peers, broken, certificate_secret(CLUSTER, purpose, pair)["data"])
    await until(peers, at(1))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, 'missing key "value" in secret data'),
        (b"[", NO_KUBECONFIG),
        (
            b"kind: Pod",
            f"{NO_KUBECONFIG} is not a kubeconfig (kind: Config)",
        ),
        (
            b"kind: Config",
            f"{NO_KUBECONFIG} no context is given and none is current",
        ),
    ],
)
async def test_a_kubeconfig_secret_without_a_kubeconfig_is_reported(
    peers: PeerControllers, text: bytes | None, why: str
) -> None:
    ca = authority()
    await bring(peers, "ca", ca)
    broken = await peers.plane.client.create(SECRETS, kubeconfig_with(text))
    await peers.start()
    kcp = await until(peers, unavailable)
    assert f"* Secret default/c1-kubeconfig: {why}" in unavailable(kcp)
    await asyncio.sleep(60)
    assert await peers.machines() == []

    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    good = kubeconfig_secret(CLUSTER, "https://10.0.0.1:6443", ca, owner, now=NOW)
    await corrected(peers, broken, good["data"])
    await until(peers, at(1))


async def test_a_kubeconfig_secret_without_its_label_is_reported(peers: PeerControllers) -> None:
    ca = authority()
    await bring(peers, "ca", ca)
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    secret = kubeconfig_secret(CLUSTER, "https://10.0.0.1:6443", ca, owner, now=NOW)
    labels = secret["metadata"].pop("labels")
    del secret["metadata"]["ownerReferences"]
    await peers.plane.client.create(SECRETS, secret)
    await peers.start()
    kcp = await until(peers, unavailable)
    assert unavailable(kcp) == (
        "Secrets of the cluster cannot be used:\n* Secret default/c1-kubeconfig: the label"
        " cluster.x-k8s.io/cluster-name: c1 is missing, by which it is found"
    )
    await peers.plane.client.patch(SECRETS, Key.of(secret), {"metadata": {"labels": labels}})
    await until(peers, at(1))


async def test_an_authority_without_its_key_needs_a_kubeconfig(peers: PeerControllers) -> None:
    ca = authority()
    await bring(peers, "ca", ca, key=False)
    await peers.start()
    kcp = await until(peers, unavailable)
    assert unavailable(kcp) == (
        "Secrets of the cluster cannot be used:\n* Secret default/c1-ca: missing data for key"
        " tls.key, which signs the cluster's certificates and kubeconfig; where the keys are kept"
        f" elsewhere, the Secret with the kubeconfig must be provided too {LABEL}"
    )
    owner = OwnerReference(api_version="a/v1", kind="K", name="n", uid="u")
    theirs = kubeconfig_secret(CLUSTER, "https://10.0.0.1:6443", ca, owner, now=NOW)
    del theirs["metadata"]["ownerReferences"]
    await peers.plane.client.create(SECRETS, theirs)
    await until(peers, at(1))


async def test_a_secret_that_becomes_invalid_is_reported_and_blocks_nothing_else(
    peers: PeerControllers,
) -> None:
    await peers.start()
    await until(peers, at(1))
    spoilt = {"data": {"tls.key": b64encode(b"garbage").decode()}}
    await peers.plane.client.patch(SECRETS, Key("default", "c1-proxy"), spoilt)
    kcp = await until(peers, unavailable)
    assert "Secret default/c1-proxy: tls.key holds no RSA or EC private key" in unavailable(kcp)
    assert len(await peers.machines()) == 1
    await change(peers, {"replicas": 3})
    blocked = "* cluster certificates are missing or unknown"
    await until(
        peers, lambda kcp: any(blocked in condition.message for condition in kcp.status.conditions)
    )
