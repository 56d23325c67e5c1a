"""Operations on clusters, one after the other, which need the rights that managers have."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import yaml

from kapy import apps
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.dev_machine import DevMachineTemplate
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_machine import DockerMachineTemplate
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.extension_config import ExtensionConfig
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, ConditionType, Label
from kapy.client.client import Client
from kapy.conditions import is_true
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource
from kapy.testing.story import Story
from tests.hooks.extension import config
from tests.machine_pool import machine_pool

SAMPLES = Path(apps.__file__).parent / "samples"
OLD, NEW = "v1.34.0", "v1.35.0"
NAME = "capybara"
PLANE, WORKERS, POOL = f"{NAME}-control-plane", f"{NAME}-md-0", f"{NAME}-mp"


def story(client: Client, *more: Resource) -> Story:
    """A story of a user with all rights. more: additional kinds."""
    ours = (kind.type_of().RESOURCE for kind in KINDS)
    return Story(client, [*ours, SECRETS, CONFIG_MAPS, *more])


def sample(name: str) -> list[Document]:
    """The objects of one of our samples."""
    return [item for item in yaml.safe_load_all((SAMPLES / name).read_text()) if item]


async def available(value: Story) -> None:
    """Wait until the Cluster is available and rolls out nothing."""

    def whole(cluster: Cluster) -> bool:
        conditions = cluster.status.conditions
        rolled = not is_true(conditions, ConditionType.ROLLING_OUT)
        return is_true(conditions, ConditionType.AVAILABLE) and rolled

    await value.until(Cluster, NAME, whole)


async def live(value: Story) -> None:
    """A cluster without a class: made, scaled, healed, upgraded, extended, deleted."""
    await value.create(sample("in-memory-cluster.yaml"))
    await available(value)
    await value.merge(MachineDeployment, WORKERS, {"spec": {"replicas": 3}})
    await value.merge(KubeadmControlPlane, PLANE, {"spec": {"replicas": 3}})
    await value.create(EXTRAS)
    await value.create(machine_pool(POOL, backend=IN_MEMORY, config=VERBOSE))
    await value.merge(Cluster, NAME, {"metadata": {"labels": {"addons": "wanted"}}})
    await settled(value, machines=8)
    await value.until(
        ClusterResourceSetBinding, NAME, lambda set_binding: set_binding.spec.bindings
    )
    await value.until(MachinePool, POOL, lambda item: item.status.available_replicas == 2)
    await addons_change(value)
    await heal(value)
    await upgrade(value)
    await value.merge(MachinePool, POOL, {"spec": {"replicas": 1}})
    await settled(value)
    await value.merge(KubeadmControlPlane, PLANE, {"spec": {"replicas": 1}})
    await settled(value)
    await lose_owners(value)
    await lose_a_pool(value)
    await delete_cluster(value)


async def addons_change(value: Story) -> None:
    """Change a ConfigMap that a ClusterResourceSet applies."""
    changed = {"data": {"more.yaml": MORE}}
    await value.client.patch(CONFIG_MAPS, Key("default", "addon"), changed)
    await settled(value)


async def heal(value: Story) -> None:
    """Request remediation of Machines by annotation, and wait for their deletion."""
    remediate = {"metadata": {"annotations": {Annotation.REMEDIATE_MACHINE: ""}}}
    for label in (Label.DEPLOYMENT_NAME, Label.CONTROL_PLANE):
        machines = await value.all(Machine)
        sick = next(machine for machine in machines if label in machine.metadata.labels)
        await value.merge(Machine, sick.metadata.name, remediate)
        await value.until_gone(Machine, sick.metadata.name)
        await settled(value)


async def upgrade(value: Story) -> None:
    """Everything gets a newer version."""
    await value.merge(KubeadmControlPlane, PLANE, {"spec": {"version": NEW}})
    template = {"spec": {"template": {"spec": {"version": NEW}}}}
    await value.merge(MachineDeployment, WORKERS, template)
    await value.merge(MachinePool, POOL, template)
    await settled(value)


async def lose_owners(value: Story) -> None:
    """A control plane is taken away and its Machines are left; another one takes them over. Secrets
    come back from a backup without their owners."""
    plane = await value.get(KubeadmControlPlane, PLANE)
    assert plane is not None
    for secret in (await value.client.list(SECRETS, "default")).items:
        if (secret.get("type") or "") == "cluster.x-k8s.io/secret":
            nobody = {"metadata": {"ownerReferences": None}}
            await value.client.patch(SECRETS, Key.of(secret), nobody)
    await value.client.delete(KubeadmControlPlane, Key("default", PLANE), propagation="Orphan")
    await value.until_gone(KubeadmControlPlane, PLANE)
    plane.metadata = type(plane.metadata)(
        name=PLANE, namespace="default", labels=plane.metadata.labels
    )
    await value.client.create(plane)
    await settled(value)


async def lose_a_pool(value: Story) -> None:
    """A pool's infrastructure goes while it makes machines that have no Machine yet."""
    paused = {"metadata": {"annotations": {Annotation.PAUSED: ""}}, "spec": {"replicas": 3}}
    await value.merge(MachinePool, POOL, paused)
    await asyncio.sleep(30)
    await value.client.delete(DevMachinePool, Key("default", POOL))
    await asyncio.sleep(30)


async def delete_cluster(value: Story) -> None:
    """And everything that it has."""
    running = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
    for pool in await value.all(MachinePool):
        await value.merge(MachinePool, pool.metadata.name, running)
    await value.client.delete(Cluster, Key("default", NAME))
    await value.until_gone(Cluster, NAME)


async def live_of_a_class(value: Story) -> None:
    """A cluster of a ClusterClass, with a pool: made, upgraded, changed with its class, deleted."""
    *parts, cluster_class, cluster = sample("in-memory-class.yaml")
    await value.create([*parts, *yaml.safe_load_all(CLASS_EXTRAS)])
    cluster_class["spec"]["workers"]["machinePools"] = [POOL_CLASS]
    cluster["spec"]["topology"]["workers"]["machinePools"] = [{"class": "herd", "name": "mp-0"}]
    await value.create([cluster_class, cluster])
    await available(value)
    await value.merge(Cluster, NAME, {"spec": {"topology": {"version": NEW}}})
    await settled(value)
    await value.merge(Cluster, NAME, {"spec": {"topology": {"workers": {"machinePools": None}}}})
    await settled(value)
    await delete_cluster(value)


async def beside(value: Story) -> None:
    """Create objects of no cluster: an ExtensionConfig with its CA in a Secret, and addresses."""
    await value.create(BESIDE)
    injected = {Annotation.INJECT_CA_FROM_SECRET: "default/authority"}
    extension = config("ext")
    extension["metadata"]["annotations"] = injected
    await value.create([extension])
    await value.until(ExtensionConfig, "ext", lambda item: item.spec.client_config.ca_bundle)


async def settled(value: Story, machines: int = 0) -> None:
    """Available again, after what was asked for began."""
    await asyncio.sleep(30)
    await available(value)
    if machines:
        results = await value.all(Machine)
        assert len([machine for machine in results if not machine.deleting]) >= machines


EXTRAS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: addon, namespace: default}
data:
  addon.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: addon, namespace: kube-system}
---
apiVersion: v1
kind: Secret
metadata: {name: addon, namespace: default}
type: addons.cluster.x-k8s.io/resource-set
stringData:
  secret.yaml: |
    apiVersion: v1
    kind: Secret
    metadata: {name: addon, namespace: kube-system}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addon, namespace: default}
spec:
  clusterSelector: {matchLabels: {addons: wanted}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: addon}, {kind: Secret, name: addon}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDrainRule
metadata: {name: wait, namespace: default}
spec:
  drain: {behavior: Skip}
  pods: [{selector: {matchLabels: {app: slow}}}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: workers, namespace: default}
spec:
  clusterName: capybara
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: capybara-md-0}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: "False", timeoutSeconds: 300}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: planes, namespace: default}
spec:
  clusterName: capybara
  selector: {matchLabels: {cluster.x-k8s.io/control-plane: ""}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: "False", timeoutSeconds: 300}]
"""

IN_MEMORY: Final[Document] = {"inMemory": {}}
VERBOSE: Final[Document] = {
    "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}}
}

MORE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: kube-system}
"""
POOL_CLASS = {
    "class": "herd",
    "bootstrap": {
        "templateRef": {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "name": "meadow-grazer",
        }
    },
    "infrastructure": {
        "templateRef": {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "DevMachinePoolTemplate",
            "name": "meadow-herd",
        }
    },
}
CLASS_EXTRAS = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePoolTemplate
metadata: {name: meadow-herd, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
"""
BESIDE = """
apiVersion: v1
kind: Secret
metadata: {name: authority, namespace: default}
data: {ca.crt: QQ==}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: wanted, namespace: default}
spec: {poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: pool}}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddress
metadata: {name: wanted, namespace: default}
spec:
  claimRef: {name: wanted}
  poolRef: {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: pool}
  address: 192.0.2.1
  prefix: 24
  gateway: 192.0.2.254
"""


BOXES: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: boxes, namespace: default}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerCluster, name: boxes}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerCluster
metadata: {name: boxes, namespace: default}
spec: {loadBalancer: {customHAProxyConfigTemplateRef: {name: haproxy}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: haproxy, namespace: default}
data: {value: "{{ .FrontendControlPlanePort }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: boxes-boot, namespace: default, labels: {cluster.x-k8s.io/cluster-name: boxes}}
data: {value: I2Nsb3VkLWNvbmZpZwp7fQo=}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachinePool
metadata: {name: boxes, namespace: default}
spec: {template: {customImage: node}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DockerMachineTemplate
metadata: {name: boxes, namespace: default}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: boxes, namespace: default}
spec: {template: {spec: {backend: {docker: {}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: boxes, namespace: default}
spec:
  clusterName: boxes
  replicas: 1
  template:
    spec:
      clusterName: boxes
      version: v1.34.0
      bootstrap: {dataSecretName: boxes-boot}
      infrastructureRef:
        {apiGroup: infrastructure.cluster.x-k8s.io, kind: DockerMachinePool, name: boxes}
"""


async def live_in_containers(value: Story) -> None:
    """A cluster whose machines are containers: made, scaled down while nobody makes Machines,
    deleted."""
    await value.create(BOXES)
    await value.until(DockerMachinePool, "boxes", lambda item: item.status.ready)
    await value.until(
        DockerMachineTemplate, "boxes", lambda template: "cpu" in template.status.capacity
    )
    await value.until(
        DevMachineTemplate, "boxes", lambda template: "cpu" in template.status.capacity
    )
    paused = {"metadata": {"annotations": {Annotation.PAUSED: ""}}, "spec": {"replicas": 3}}
    await value.merge(MachinePool, "boxes", paused)
    await asyncio.sleep(30)
    await value.client.delete(DockerMachinePool, Key("default", "boxes"))
    await asyncio.sleep(30)
    running = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
    await value.merge(MachinePool, "boxes", running)
    await value.client.delete(Cluster, Key("default", "boxes"))
    await value.until_gone(Cluster, "boxes")
