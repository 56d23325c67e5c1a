"""What people do with clusters, one after the other: a life that needs every right there is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import yaml

from kapy import apps
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, ConditionType, Label
from kapy.client.client import Client
from kapy.conditions import is_true
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.testing.story import Story

SAMPLES = Path(apps.__file__).parent / "samples"
OLD, NEW = "v1.34.0", "v1.35.0"
NAME = "capybara"


def story(client: Client) -> Story:
    """Somebody who may everything."""
    return Story(client, [*(kind.type_of().RESOURCE for kind in KINDS), SECRETS, CONFIG_MAPS])


def sample(name: str) -> list[Document]:
    """The objects of one of our samples."""
    return [one for one in yaml.safe_load_all((SAMPLES / name).read_text()) if one]


async def available(told: Story) -> None:
    """The cluster is whole, and says so of its newest spec."""

    def whole(cluster: Cluster) -> bool:
        conditions = cluster.status.conditions
        rolled = not is_true(conditions, ConditionType.ROLLING_OUT)
        return is_true(conditions, ConditionType.AVAILABLE) and rolled

    await told.until(Cluster, NAME, whole)


async def live(told: Story) -> None:
    """A cluster without a class: made, scaled, healed, upgraded, extended, deleted."""
    await told.create(sample("in-memory-cluster.yaml"))
    await available(told)
    await told.merge(MachineDeployment, f"{NAME}-md-0", {"spec": {"replicas": 3}})
    await told.merge(KubeadmControlPlane, f"{NAME}-control-plane", {"spec": {"replicas": 3}})
    await settled(told, machines=6)
    await told.create(EXTRAS)
    await told.merge(Cluster, NAME, {"metadata": {"labels": {"addons": "wanted"}}})
    await settled(told, machines=6)
    await told.until(ClusterResourceSetBinding, NAME, lambda one: one.spec.bindings)
    await told.until(MachinePool, f"{NAME}-mp", lambda one: one.status.available_replicas == 2)
    workers = await told.all(Machine)
    sick = next(one for one in workers if Label.DEPLOYMENT_NAME in one.metadata.labels)
    remediate = {"metadata": {"annotations": {Annotation.REMEDIATE_MACHINE: ""}}}
    await told.merge(Machine, sick.metadata.name, remediate)
    await told.until_gone(Machine, sick.metadata.name)
    await told.merge(KubeadmControlPlane, f"{NAME}-control-plane", {"spec": {"version": NEW}})
    template = {"spec": {"template": {"spec": {"version": NEW}}}}
    await told.merge(MachineDeployment, f"{NAME}-md-0", template)
    await told.merge(MachinePool, f"{NAME}-mp", template)
    await told.merge(MachinePool, f"{NAME}-mp", {"spec": {"replicas": 1}})
    await settled(told)
    await told.merge(KubeadmControlPlane, f"{NAME}-control-plane", {"spec": {"replicas": 1}})
    await settled(told)
    await told.client.delete(Cluster, Key("default", NAME))
    await told.until_gone(Cluster, NAME)


async def live_of_a_class(told: Story) -> None:
    """A cluster of a ClusterClass: made, upgraded, changed with its class, deleted."""
    await told.create(sample("in-memory-class.yaml"))
    await available(told)
    topology = {"spec": {"topology": {"version": NEW}}}
    await told.merge(Cluster, NAME, topology)
    await settled(told)
    await told.client.delete(Cluster, Key("default", NAME))
    await told.until_gone(Cluster, NAME)


async def settled(told: Story, machines: int = 0) -> None:
    """Available again, after what was asked for began."""
    await asyncio.sleep(30)
    await available(told)
    if machines:
        found = await told.all(Machine)
        assert len([one for one in found if not one.deleting]) >= machines


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
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: capybara-mp, namespace: default}
spec: {backend: {inMemory: {}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: capybara-mp, namespace: default}
spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: v, value: "2"}]}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: capybara-mp, namespace: default}
spec:
  clusterName: capybara
  replicas: 2
  template:
    spec:
      clusterName: capybara
      version: v1.34.0
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: capybara-mp}
      infrastructureRef:
        {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool, name: capybara-mp}
"""
