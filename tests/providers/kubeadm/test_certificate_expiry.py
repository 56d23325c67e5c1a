"""The API servers whose certificate expiry is read."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.kube import Document
from kapy.kube.model import decode
from kapy.providers.kubeadm.controlplane import certificates
from kapy.providers.kubeadm.controlplane.certificates import record_expiries
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from tests.providers.kubeadm.building import machine, plane

END = datetime(2027, 1, 1, tzinfo=UTC)


def config(name: str, **metadata: object) -> KubeadmConfig:
    return decode({"metadata": {"name": name, "namespace": "ns", **metadata}}, KubeadmConfig)


@pytest.mark.parametrize(
    ("of", "annotations", "is_asked"),
    [
        (machine("m"), {}, True),
        (machine("m", healthy=False), {}, False),  # its Pod may not be there yet
        (machine("m", node=False), {}, False),
        (machine("m", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]), {}, False),
        (machine("m"), {"machine.cluster.x-k8s.io/certificates-expiry": "x"}, False),
    ],
    ids=["healthy", "not healthy", "no node", "deleting", "known"],
)
async def test_only_healthy_machines_are_checked_once(
    monkeypatch: pytest.MonkeyPatch, of: Document, annotations: dict[str, str], *, is_asked: bool
) -> None:
    nodes: list[str] = []
    patched: list[str] = []

    async def access(*_: object) -> None:
        return None

    async def ask(_: object, node: str) -> datetime:
        nodes.append(node)
        return END

    async def patch(_: object, key: object, __: object) -> None:
        patched.append(str(key))

    monkeypatch.setattr(certificates, "cluster_access", access)
    client = SimpleNamespace(patch=patch)
    dependencies = SimpleNamespace(certificate_expiry=ask, runtime=SimpleNamespace(client=client))
    control_plane = plane(of, status={"initialization": {"controlPlaneInitialized": True}})
    control_plane.configs["m"] = config("m", annotations=annotations)
    await record_expiries(cast(Dependencies, dependencies), control_plane)
    assert nodes == (["m"] if is_asked else [])
    assert patched == (["ns/m"] if is_asked else [])
