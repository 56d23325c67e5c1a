"""Chapters of a cluster's life: its kubeconfig and its certificates are renewed before they end."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Final

from kapy._aio.clock import system_clock
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.kube.pki import facts, issue
from kapy.kube.yaml import dump, load
from kapy.remote.secrets import CLUSTER_CA, key_pair, secret_name
from tests.real_clusters.life import CLUSTER, Life, eventually

_SECRET: Final = Key(CLUSTER.namespace, "real-kubeconfig")
_SOON: Final = timedelta(days=2)


async def renew_the_kubeconfig(life: Life) -> None:
    """A kubeconfig whose certificate ends soon gets a new one; the old one is good until then."""
    secret = await life.client.get(SECRETS, _SECRET)
    authority = key_pair(
        await life.client.get(SECRETS, Key("default", secret_name("real", CLUSTER_CA)))
    )
    text, access = await life.kubeconfig()
    short = issue(
        authority,
        "kubernetes-admin",
        now=system_clock(),
        organizations=["system:masters"],
        valid=_SOON,
    )
    config = load(text.decode())
    user = config["users"][0]["user"]
    user["client-certificate-data"] = b64encode(short.certificate).decode()
    user["client-key-data"] = b64encode(short.key).decode()
    data = {"value": b64encode(dump(config).encode()).decode()}
    await life.client.patch(SECRETS, _SECRET, {"data": data})

    async def renewed() -> dict[str, str] | None:
        document = await life.client.get(SECRETS, _SECRET)
        return None if document["data"] in (data, secret["data"]) else document

    await eventually(renewed, lambda: "the kubeconfig is not renewed")
    _, after = await life.kubeconfig()
    assert after.server == access.server
    assert facts(after.client_certificate).not_after > system_clock() + timedelta(days=300)
    assert len(await life.nodes()) == 4
    life.done("a kubeconfig that ends soon is renewed")


async def renew_certificates(life: Life) -> None:
    """The control plane is replaced before the certificate of its API server ends.

    kubeadm gives that server a certificate of two days; kapy reads it from the server itself.
    """
    (machine,) = await life.control_plane()
    node = life.node_of(machine)
    expiry = _expiry(machine)
    assert expiry > system_clock() + timedelta(days=300)
    await _shorten(life, node)
    await _forget(life, machine)

    def ends_soon(value: Machine) -> bool:
        date = value.status.certificates_expiry_date
        return date is not None and moment(date) < system_clock() + 2 * _SOON

    await life.until(Machine, machine.metadata.name, ends_soon)
    life.done("kapy sees that the API server's certificate ends soon")
    before = {"rollout": {"before": {"certificatesExpiryDays": 7}}}
    await life.story.merge(KubeadmControlPlane, "real", {"spec": before})
    await life.story.until_gone(Machine, machine.metadata.name, within=900)
    await life.control_plane_is(1)
    (replaced,) = await life.control_plane()
    assert replaced.metadata.uid != machine.metadata.uid

    def is_noted(value: Machine) -> bool:
        return value.status.certificates_expiry_date is not None

    replaced = await life.until(Machine, replaced.metadata.name, is_noted)
    assert _expiry(replaced) > system_clock() + timedelta(days=300)
    life.done("the control plane machine is replaced before its certificates end")


def _expiry(machine: Machine) -> datetime:
    date = machine.status.certificates_expiry_date
    assert date is not None
    return moment(date)


async def _shorten(life: Life, node: str) -> None:
    """Have kubeadm make another certificate; the API server reads it from its file by itself."""
    script = """
set -e
kubectl --kubeconfig /etc/kubernetes/admin.conf get configmap kubeadm-config \\
    --namespace kube-system --output jsonpath='{.data.ClusterConfiguration}' > /tmp/config.yaml
sed --in-place '/^certificateValidityPeriod:/d' /tmp/config.yaml
echo 'certificateValidityPeriod: 48h0m0s' >> /tmp/config.yaml
kubeadm certs renew apiserver --config /tmp/config.yaml
"""
    result = await life.engine.run(node, ["/bin/bash", "-c", script])
    assert result.exit_code == 0, result.stderr


async def _forget(life: Life, machine: Machine) -> None:
    """Have kapy look again, as its documentation says."""
    config = machine.spec.bootstrap.config_ref
    assert config is not None
    patch = {"metadata": {"annotations": {Annotation.CERTIFICATES_EXPIRY: None}}}
    await life.story.merge(KubeadmConfig, config.name, patch)
