"""ClusterClasses as upstream releases them, with the Clusters that are released beside them."""

from __future__ import annotations

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.kube import Document, yaml
from kapy.kube.errors import Invalid
from kapy.testing.story import Story
from tests.core.topology.topology_story import is_settled, reconciled
from tests.oracle.recorded import SAMPLES
from tests.stories.plane import own_kinds, running_plane
from tests.stories.released import (
    in_default,
    released,
    with_known_variables,
    without_external_patches,
)

SAMPLE = SAMPLES / "samples" / "clusterclass-in-memory.yaml"


async def parts(story: Story) -> dict[str, list[list[str]]]:
    """Return the kinds of the owners of each object, by the kind of the object."""
    results: dict[str, list[list[str]]] = {}
    for kind in own_kinds():
        for document in (await story.client.list(kind, "default")).items:
            owners = document["metadata"].get("ownerReferences") or ()
            results.setdefault(kind.kind, []).append(sorted(ref["kind"] for ref in owners))
    return {kind: sorted(owners) for kind, owners in results.items()}


def named(documents: list[Document], kind: str) -> Document:
    return next(document for document in documents if document["kind"] == kind)


async def test_the_in_memory_class_gives_a_ready_cluster() -> None:
    async with running_plane() as story:
        await story.create(without_external_patches(released("clusterclass-in-memory.yaml")))
        await story.create(released("cluster-template-in-memory.yaml", CLUSTER_NAME="quick"))
        await story.settle()
        await story.until(Cluster, "quick", is_settled)
        assert await parts(story) == {
            "Cluster": [[]],
            "ClusterClass": [[]],
            "DevCluster": [["Cluster"]],
            "DevClusterTemplate": [["ClusterClass"]],
            "DevMachine": [["Machine"]] * 4,
            "DevMachineTemplate": [["Cluster"]] * 2 + [["ClusterClass"]] * 2,
            "KubeadmConfig": [["Machine"]] * 4,
            "KubeadmConfigTemplate": [["Cluster"], ["ClusterClass"]],
            "KubeadmControlPlane": [["Cluster"]],
            "KubeadmControlPlaneTemplate": [["ClusterClass"]],
            "Machine": [["KubeadmControlPlane"]] + [["MachineSet"]] * 3,
            "MachineDeployment": [["Cluster"]],
            "MachineHealthCheck": [["Cluster"]] * 2,
            "MachineSet": [["MachineDeployment"]],
        }


@pytest.mark.parametrize("which", ["topology", "scale"])
async def test_clusters_without_discovered_variables_are_refused(which: str) -> None:
    """Their variables are the extension's to define."""
    async with running_plane() as story:
        await story.create(without_external_patches(released("clusterclass-in-memory.yaml")))
        await story.settle(2)
        objects = released(f"cluster-template-in-memory-{which}.yaml", CLUSTER_NAME="quick")
        with pytest.raises(Invalid, match=r"spec\.topology\.variables\[\w+\].*not defined"):
            await story.create(objects)


async def test_the_quick_start_class_gives_the_objects_of_containers() -> None:
    """The Docker back end is nobody's here, so it ends with the objects."""
    async with running_plane() as story:
        objects = released("clusterclass-quick-start.yaml")
        await story.create(objects)
        await story.settle(2)
        clusters = released("cluster-template-development.yaml", CLUSTER_NAME="quick")
        with pytest.raises(Invalid, match=r"variables\[imageRepository\].*not defined"):
            await story.create(clusters)
        cluster_class = named(objects, "ClusterClass")
        await story.create([with_known_variables(document, cluster_class) for document in clusters])
        cluster = await story.until(Cluster, "quick", lambda value: reconciled(value) is not None)
        await story.settle()
        condition = reconciled(cluster)
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "ReconcileSucceeded")
        assert await parts(story) == {
            "Cluster": [[]],
            "ClusterClass": [[]],
            "DevCluster": [["Cluster"]],
            "DevClusterTemplate": [["ClusterClass"]],
            "DevMachinePoolTemplate": [["ClusterClass"]],
            "DevMachineTemplate": [["Cluster"]] * 2 + [["ClusterClass"]] * 2,
            "KubeadmConfigTemplate": [["Cluster"]] + [["ClusterClass"]] * 2,
            "KubeadmControlPlane": [["Cluster"]],
            "KubeadmControlPlaneTemplate": [["ClusterClass"]],
            "MachineDeployment": [["Cluster"]],
            "MachineHealthCheck": [["Cluster"]],
            "MachineSet": [["MachineDeployment"]],
        }
        (plane,) = await story.all(KubeadmControlPlane)
        server = plane.spec.kubeadm_config_spec.cluster_configuration.api_server
        arguments = {arg.name: arg.value for arg in server.extra_args}
        assert arguments["admission-control-config-file"].startswith("/etc/kubernetes/")
        files = {file.path for file in plane.spec.kubeadm_config_spec.files}
        assert arguments["admission-control-config-file"] in files


async def test_the_sample_with_variables_gives_a_ready_cluster() -> None:
    async with running_plane() as story:
        documents = [in_default(item) for item in yaml.load_all(SAMPLE.read_text())]
        await story.create(documents)
        await story.settle()
        name = named(documents, "Cluster")["metadata"]["name"]
        await story.until(Cluster, name, is_settled)
        topology = named(documents, "Cluster")["spec"]["topology"]
        wanted = topology["controlPlane"]["replicas"] + sum(
            deployment["replicas"] for deployment in topology["workers"]["machineDeployments"]
        )
        assert len(await story.all(Machine)) == wanted
