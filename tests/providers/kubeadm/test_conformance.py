"""KubeadmConfig and KubeadmControlPlane keep their contracts, on good days and on bad ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigTemplate
from kapy.api.kubeadm_control_plane import KubeadmControlPlane, KubeadmControlPlaneTemplate
from kapy.kube import Document
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk import Runtime
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.check_results import ONCE
from kapy.testing.conformance.core_controllers import WithCoreControllers
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.in_process import InProcess, Services
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.conformance.run import run_checks

SEEDS: Final = range(1)
KEYS: Final = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}
"""Quicker to make than those of RSA."""
MACHINES: Final[Document] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "DevMachineTemplate",
    "metadata": {"name": "machines"},
    "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
}
CONTROL_PLANE: Final[Document] = {
    "kind": "KubeadmControlPlane",
    "metadata": {},
    "spec": {
        "replicas": 1,
        "version": "v1.34.0",
        "machineTemplate": {
            "spec": {
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "DevMachineTemplate",
                    "name": "machines",
                }
            }
        },
        "kubeadmConfigSpec": KEYS,
    },
}


def bootstrap(runtime: Runtime) -> Services:
    def nobody(_: object) -> None:
        raise AssertionError("no workload cluster is needed for the first machine")

    connections = ClusterCache(runtime, dial=nobody)  # type: ignore[arg-type]
    add_bootstrap(runtime, connections)
    return {"connections": connections.run}


def among(machines: InMemoryClusters) -> InProcess:
    def add(runtime: Runtime) -> Mapping[str, object]:
        connections = ClusterCache(runtime, dial=machines.dial)
        machines.subscribe(connections.trigger_probe)
        add_control_planes(
            runtime,
            connections,
            etcd_dial=machines.etcd_dial,
            certificate_expiry=machines.certificate_expiry,
        )
        return {"connections": connections.run}

    return InProcess(add)  # type: ignore[arg-type]


async def keeps_every_rule(
    subject: ProviderUnderTest, *documents: str, seeds: Sequence[int]
) -> None:
    report = await run_checks(subject, BEHAVIOUR, seeds=seeds)
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    not_run = {item.rule.id: item.reason for item in report.with_state(State.NOT_RUN)}
    unseen = {text for text in not_run if text.startswith(documents)}
    assert unseen == (set() if seeds else {f"{document}/{ONCE}" for document in documents}), not_run


async def test_the_bootstrap_provider_keeps_every_rule() -> None:
    example: Document = {"kind": "KubeadmConfig", "metadata": {}, "spec": KEYS}
    template = KubeadmConfigTemplate.RESOURCE
    kind = Kind("bootstrap-config", KubeadmConfig.RESOURCE, example, template=template)
    subject = ProviderUnderTest("kubeadm bootstrap", (kind,), InProcess(bootstrap))
    await keeps_every_rule(subject, "bootstrap-config", "clusterctl", seeds=SEEDS)


async def test_the_control_plane_provider_keeps_every_rule() -> None:
    template = KubeadmControlPlaneTemplate.RESOURCE
    kind = Kind("control-plane", KubeadmControlPlane.RESOURCE, CONTROL_PLANE, template=template)
    way = WithCoreControllers(among)
    subject = ProviderUnderTest("kubeadm control plane", (kind,), way, extras=[MACHINES])
    await keeps_every_rule(subject, "control-plane", seeds=SEEDS)
