"""Two clusters: the herd is of a ClusterClass, the page has a control plane of the SDK's Machines.

Beside them an addon for both, and addresses.
"""

HERD = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {kubeadmConfigSpec: {clusterConfiguration: {
  encryptionAlgorithm: ECDSA-P256}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 2s}}}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: meadow, namespace: default}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: prairie, namespace: default}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [
  {name: v, value: "2"}]}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePoolTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: meadow, namespace: default}
spec:
  infrastructure: {templateRef: &infra {
    kind: DevClusterTemplate, name: meadow,
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}}
  controlPlane:
    templateRef: {
      kind: KubeadmControlPlaneTemplate, name: meadow,
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2}
    machineInfrastructure: &machines {templateRef: {
      kind: DevMachineTemplate, name: meadow,
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}}
  workers:
    machineDeployments:
    - class: grass
      bootstrap: &boot {templateRef: {
        kind: KubeadmConfigTemplate, name: meadow,
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta2}}
      infrastructure: *machines
      healthCheck: {checks: {nodeStartupTimeoutSeconds: 600}}
    machinePools:
    - class: drove
      bootstrap: *boot
      infrastructure: {templateRef: {
        kind: DevMachinePoolTemplate, name: meadow,
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: herd, namespace: default, labels: {addons: wanted}}
spec:
  topology:
    classRef: {name: meadow}
    version: v1.33.4
    controlPlane: {replicas: 1}
    workers:
      machineDeployments: [{class: grass, name: east, replicas: 2}]
      machinePools: [{class: drove, name: south, replicas: 2}]
"""
PAGE = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: page, namespace: default}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: page, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1alpha1
kind: PageControlPlane
metadata: {name: page, namespace: default}
spec:
  replicas: 1
  version: v1.34.0
  machineTemplate:
    spec:
      infrastructureRef: {
        kind: DevMachineTemplate, name: page, apiGroup: infrastructure.cluster.x-k8s.io}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: page, namespace: default, labels: {addons: wanted}}
spec:
  infrastructureRef: {
    kind: DevCluster, name: page, apiGroup: infrastructure.cluster.x-k8s.io}
  controlPlaneRef: {
    kind: PageControlPlane, name: page, apiGroup: controlplane.cluster.x-k8s.io}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: addon, namespace: default}
data: {addon: "{apiVersion: v1, kind: Namespace, metadata: {name: addon}}"}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addon, namespace: default}
spec:
  clusterSelector: {matchLabels: {addons: wanted}}
  resources: [{kind: ConfigMap, name: addon}]
---
apiVersion: ipam.example.dev/v1
kind: RangePool
metadata: {name: pool, namespace: default}
spec: {first: 10.0.0.1, last: 10.0.0.9, gateway: 10.0.0.1}
"""
CLAIM = """
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {{name: claim-{}, namespace: default}}
spec: {{poolRef: {{apiGroup: ipam.example.dev, kind: RangePool, name: pool}}}}
"""
