"""Kubeconfigs of workload clusters: the Secret's, and one's own for a while."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta

import pytest

from kapy.client.client import Client
from kapy.clusterctl.kubeconfig import Holder, NoKubeconfig, admin_kubeconfig, own_kubeconfig
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request
from kapy.kube.meta import OwnerReference
from kapy.kube.pki import facts, new_ca
from kapy.kube.yaml import load
from kapy.remote.kubeconfig_secret import kubeconfig_secret
from kapy.remote.secrets import CERTIFICATE, PRIVATE_KEY, cluster_secret

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CLUSTER = Key("fleet", "shop")
CA = new_ca("kubernetes", now=NOW, algorithm="ECDSA-P256")
ADMIN = kubeconfig_secret(
    CLUSTER,
    "https://10.0.0.1:6443",
    CA,
    OwnerReference(api_version="a/v1", kind="K", name="n", uid="u"),
    now=NOW,
    algorithm="ECDSA-P256",
)
WHOLE = cluster_secret("shop-ca", CLUSTER, {CERTIFICATE: CA.certificate, PRIVATE_KEY: CA.key}, None)
ANNA = Holder("anna", ["dev", "ops"], timedelta(minutes=30))


def client(*secrets: Document) -> Client:
    """Of a server that has these Secrets, and answers 404 to everything else."""
    paths = {
        f"/api/v1/namespaces/fleet/secrets/{secret['metadata']['name']}": secret
        for secret in secrets
    }

    async def answer(request: Request) -> Reply:
        path = paths.get(request.path)
        if path is not None:
            return Reply(200, path)
        name = request.path.rpartition("/")[2]
        return Reply(404, {"kind": "Status", "message": f'secrets "{name}" not found', "code": 404})

    return Client(answer)


async def test_the_administrators_kubeconfig_is_printed_unchanged() -> None:
    text = await admin_kubeconfig(client(ADMIN), CLUSTER)
    assert text == b64decode(ADMIN["data"]["value"]).decode()


async def test_a_personal_kubeconfig_names_user_and_groups_and_expires_soon() -> None:
    config = load(await own_kubeconfig(client(ADMIN, WHOLE), CLUSTER, ANNA, now=NOW))
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.1:6443"
    assert config["current-context"] == "anna@shop"
    (user,) = config["users"]
    certificate = b64decode(user["user"]["client-certificate-data"])
    from cryptography.x509 import load_pem_x509_certificate
    from cryptography.x509.oid import NameOID

    names = load_pem_x509_certificate(certificate).subject
    messages = {
        name.oid: [two.value for two in names.get_attributes_for_oid(name.oid)] for name in names
    }
    assert messages[NameOID.COMMON_NAME] == ["anna"]
    assert sorted(messages[NameOID.ORGANIZATION_NAME]) == ["dev", "ops"]
    assert facts(certificate).not_after == NOW + ANNA.valid
    assert CA.key not in b64decode(user["user"]["client-key-data"])


@pytest.mark.parametrize(
    ("secrets", "said"),
    [
        ([], '"shop-kubeconfig" not found in namespace "fleet": secrets "shop-kubeconfig" not'),
        ([ADMIN], '"shop-ca" not found in namespace "fleet"'),
        (
            [ADMIN, cluster_secret("shop-ca", CLUSTER, {CERTIFICATE: CA.certificate}, None)],
            "has no key of the cluster's CA: the certificate must come from who keeps it",
        ),
    ],
    ids=["no cluster", "no CA", "a CA without its key"],
)
async def test_a_missing_kubeconfig_secret_is_reported(secrets: list[Document], said: str) -> None:
    with pytest.raises(NoKubeconfig) as error:
        await own_kubeconfig(client(*secrets), CLUSTER, ANNA, now=NOW)
    assert said in str(error.value)


async def test_a_secret_without_a_value_is_reported() -> None:
    with pytest.raises(NoKubeconfig, match="has no kubeconfig in it"):
        await admin_kubeconfig(client({**ADMIN, "data": {}}), CLUSTER)
