"""Manifests of the clusters that scenarios use."""

from __future__ import annotations

import json
from typing import Final

from kapy.kube import Document, yaml

OLD, MIDDLE, NEW = "v1.33.4", "v1.34.2", "v1.35.0"
CLUSTER: Final = "meadow"

_MACHINES: Final = """
spec:
  template:
    spec:
      backend:
        inMemory:
          vm: {provisioning: {startupDuration: "2s"}}
          node: {provisioning: {startupDuration: "1s"}}
"""

_PLAIN: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: meadow, namespace: default}
spec:
  infrastructureRef:
    {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: meadow}
  controlPlaneRef:
    {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: meadow-cp}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: meadow, namespace: default}
spec: {backend: {inMemory: {}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: meadow-cp, namespace: default}
spec:
  replicas: 1
  version: v1.34.2
  machineTemplate:
    spec:
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: DevMachineTemplate
        name: meadow-cp
  kubeadmConfigSpec: {clusterConfiguration: {apiServer: {certSANs: [localhost]}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: meadow-cp, namespace: default}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: meadow-md, namespace: default}
spec:
  clusterName: meadow
  replicas: 2
  selector: {matchLabels: {pool: md}}
  template:
    metadata: {labels: {pool: md}}
    spec:
      clusterName: meadow
      version: v1.34.2
      bootstrap:
        configRef:
          apiGroup: bootstrap.cluster.x-k8s.io
          kind: KubeadmConfigTemplate
          name: meadow-md
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: DevMachineTemplate
        name: meadow-md
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: meadow-md, namespace: default}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: grass=green}]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: meadow-md, namespace: default}
"""

HEALTH_CHECKS: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: workers, namespace: default}
spec:
  clusterName: meadow
  selector: {matchLabels: {pool: md}}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions: [{type: Ready, status: "False", timeoutSeconds: 30}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: control-plane, namespace: default}
spec:
  clusterName: meadow
  selector: {matchExpressions: [{key: cluster.x-k8s.io/control-plane, operator: Exists}]}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions: [{type: Ready, status: "False", timeoutSeconds: 30}]
"""

OUTAGE_CHECK: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: workers, namespace: default}
spec:
  clusterName: meadow
  selector: {matchLabels: {pool: md}}
  checks:
    nodeStartupTimeoutSeconds: 600
    unhealthyNodeConditions: [{type: Ready, status: "False", timeoutSeconds: 30}]
  remediation:
    triggerIf: {unhealthyLessThanOrEqualTo: 1}
"""

_WORKLOAD: Final = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: grass, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: grass}}
  template:
    metadata: {labels: {app: grass}}
    spec: {containers: [{name: grass, image: example.com/grass}]}
"""

_CLASS: Final = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: CLASS, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlaneTemplate
metadata: {name: CLASS, namespace: default}
spec:
  template:
    spec:
      rolloutStrategy: {rollingUpdate: {maxSurge: 1}}
      kubeadmConfigSpec: {clusterConfiguration: {apiServer: {certSANs: [localhost]}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: CLASS, namespace: default}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: CLASS, namespace: default}
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: grass=green}]}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: CLASS, namespace: default}
spec:
  kubernetesVersions: [v1.33.4, v1.34.2, v1.35.0]
  infrastructure:
    templateRef:
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
      kind: DevClusterTemplate
      name: CLASS
  controlPlane:
    templateRef:
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2
      kind: KubeadmControlPlaneTemplate
      name: CLASS
    machineInfrastructure: &machines
      templateRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: DevMachineTemplate
        name: CLASS
  workers:
    machineDeployments:
    - class: grass
      bootstrap:
        templateRef:
          apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
          kind: KubeadmConfigTemplate
          name: CLASS
      infrastructure: *machines
  variables:
  - name: label
    required: false
    schema: {openAPIV3Schema: {type: string, default: green}}
  patches:
  - name: label
    definitions:
    - selector:
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
        kind: KubeadmConfigTemplate
        matchResources: {machineDeploymentClass: {names: [grass]}}
      jsonPatches:
      - op: add
        path: /spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs
        valueFrom: {template: '[{name: node-labels, value: "grass={{ .label }}"}]'}
"""

_TOPOLOGY: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: meadow, namespace: default}
spec:
  topology:
    classRef: {name: meadow}
    version: v1.33.4
    controlPlane: {replicas: 1}
    workers:
      machineDeployments:
      - {class: grass, name: east, replicas: 1}
"""


def _with_machines(documents: list[Document]) -> list[Document]:
    [spec] = yaml.load_all(_MACHINES)
    return [
        {**document, **spec} if document["kind"] == "DevMachineTemplate" else document
        for document in documents
    ]


def plain_cluster(*, control_planes: int = 1, workers: int = 2) -> list[Document]:
    """Return the manifests of a cluster without a ClusterClass."""
    documents = _with_machines(yaml.load_all(_PLAIN))
    replicas = {"KubeadmControlPlane": control_planes, "MachineDeployment": workers}
    return [
        {**document, "spec": {**document["spec"], "replicas": replicas[document["kind"]]}}
        if document["kind"] in replicas
        else document
        for document in documents
    ]


def with_slow_machines(documents: list[Document]) -> list[Document]:
    """Return the documents with machines that start only after every process has received a
    change.
    """
    text = json.dumps(documents).replace('"startupDuration": "2s"', '"startupDuration": "25s"')
    result: list[Document] = json.loads(text)
    return result


def another_template(name: str) -> Document:
    """Return another infrastructure machine template, whose Nodes take longer to start."""
    [machines] = yaml.load_all(_MACHINES.replace('"1s"', '"1500ms"'))
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachineTemplate",
        "metadata": {"name": name, "namespace": "default"},
        **machines,
    }


def guarded_workload() -> list[Document]:
    """Return a Deployment, and a budget that allows no disruption of its Pods."""
    return [*yaml.load_all(_WORKLOAD), budget(4)]


def budget(least: int) -> Document:
    """Return the disruption budget of the Deployment's Pods. least: the number of Pods that must be
    available.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "grass", "namespace": "default"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "grass"}}},
    }


def cluster_class(name: str = CLUSTER) -> list[Document]:
    """Return the manifests of a ClusterClass and of its templates."""
    return _with_machines(yaml.load_all(_CLASS.replace("CLASS", name)))


def class_cluster(*, control_planes: int = 1, workers: int = 1) -> list[Document]:
    """Return the manifest of a Cluster that uses the ClusterClass of `cluster_class`."""
    text = _TOPOLOGY.replace(
        "controlPlane: {replicas: 1}", f"controlPlane: {{replicas: {control_planes}}}"
    )
    return list(yaml.load_all(text.replace("east, replicas: 1", f"east, replicas: {workers}")))
