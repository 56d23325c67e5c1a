"""A chapter of a cluster's life: another version of Kubernetes."""

from __future__ import annotations

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.kube import Document, Key
from kapy.kube.names import DAEMON_SETS, DEPLOYMENTS, PODS
from tests.real_clusters.life import WORKERS, Life
from tests.real_clusters.parts import NEW, OLD
from tests.real_clusters.workload import deployed, watched

_SYSTEM = "kube-system"


async def upgrade(life: Life) -> None:
    """Control plane and workers are replaced; etcd, CoreDNS and kube-proxy follow; Pods stay."""
    assert (await _images(life)).isdisjoint(_wanted(NEW.version, NEW.etcd, NEW.coredns))
    await deployed(life, 2)
    before = {machine.metadata.uid for machine in await life.machines()}
    async with watched(life):
        configuration = {
            "etcd": {"local": {"imageTag": NEW.etcd}},
            "dns": {"imageTag": NEW.coredns},
        }
        spec: Document = {
            "version": NEW.version,
            "kubeadmConfigSpec": {"clusterConfiguration": configuration},
        }
        await life.story.merge(KubeadmControlPlane, "real", {"spec": spec})
        await life.control_plane_is(1)
        life.done(f"control plane {OLD.version} to {NEW.version}")
        version = {"template": {"spec": {"version": NEW.version}}}
        await life.story.merge(MachineDeployment, WORKERS, {"spec": version})
        await life.workers_are(2)
        life.done("two workers follow")
    after = await life.machines()
    assert len(after) == 3
    assert before.isdisjoint(machine.metadata.uid for machine in after)
    for node in await life.nodes():
        assert node["status"]["nodeInfo"]["kubeletVersion"] == NEW.version
    await _addons_roll(life)
    assert await _images(life) >= _wanted(NEW.version, NEW.etcd, NEW.coredns)
    life.done("kube-proxy and CoreDNS follow")


def _wanted(version: str, etcd: str, coredns: str) -> set[str]:
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    images = {f"registry.k8s.io/{program}:{version}" for program in programs}
    dns = f"registry.k8s.io/coredns/coredns:{coredns}"
    return {*images, f"registry.k8s.io/etcd:{etcd}", dns}


async def _addons_roll(life: Life) -> None:
    """Wait until the Pods of both are the new ones."""

    def rolled(document: Document) -> bool:
        status = document.get("status") or {}
        wanted = status.get("desiredNumberScheduled", document["spec"].get("replicas"))
        updated = status.get("updatedNumberScheduled", status.get("updatedReplicas"))
        ready = status.get("numberAvailable", status.get("availableReplicas"))
        current = status.get("observedGeneration") == document["metadata"]["generation"]
        return bool(current and wanted == updated == ready)

    await life.in_cluster(DAEMON_SETS, Key(_SYSTEM, "kube-proxy"), rolled)
    await life.in_cluster(DEPLOYMENTS, Key(_SYSTEM, "coredns"), rolled)


async def _images(life: Life) -> set[str]:
    """The images of the Pods of the cluster itself that run."""
    pods = (await (await life.workload()).list(PODS, _SYSTEM)).items
    running = (pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running")
    return {
        container["image"] for document in running for container in document["spec"]["containers"]
    }
