"""Templates for the docker backend become templates for the in-memory backend, and nothing else of
them changes."""

from __future__ import annotations

from kapy.kube.yaml import load_all
from tests.real.specs.templates import MACHINE, in_memory

TEMPLATE = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: '${CLUSTER_NAME}'}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata:
  name: "${CLUSTER_NAME}-md-0"
spec:
  template:
    spec:
      backend:
        docker:
          preLoadImages: ${DOCKER_PRELOAD_IMAGES:-[]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: mp}
spec: {backend: {inMemory: {}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cni}
data: ${CNI_RESOURCES}
count: ${REPLICAS}
text: "${REPLICAS}"
"""

CLASS = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick-start}
spec:
  patches:
  - name: image
    definitions:
    - jsonPatches: [{op: add, path: /spec/template/spec/backend/docker/customImage}]
  - name: etcd
    definitions:
    - jsonPatches: [{op: add, path: /spec/template/spec/kubeadmConfigSpec}]
  - name: external
    external: {generatePatchesExtension: generate-patches}
"""

CONTROL_PLANE = """
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    preKubeadmCommands: [./wait-signal.sh]
"""


def test_backends_of_machines_and_clusters_are_in_memory() -> None:
    cluster, template, pool, _ = load_all(in_memory(TEMPLATE), "template")
    assert cluster["spec"]["backend"] == {"inMemory": {}}
    assert template["spec"]["template"]["spec"]["backend"]["inMemory"].keys() == MACHINE.keys()
    assert "metadata" not in template["spec"]["template"]
    assert pool["spec"]["backend"] == {"inMemory": {}}  # it was before


def test_scalars_stay_as_they_are_quoted() -> None:
    written = in_memory(TEMPLATE).splitlines()
    assert {"data: ${CNI_RESOURCES}", "count: ${REPLICAS}", 'text: "${REPLICAS}"'} < set(written)


def test_patches_that_need_containers_are_left_out() -> None:
    (result,) = load_all(in_memory(CLASS), "class")
    assert [patch["name"] for patch in result["spec"]["patches"]] == ["etcd", "external"]


def test_machines_with_boot_commands_wait_for_them() -> None:
    documents = load_all(in_memory(TEMPLATE + CONTROL_PLANE), "template")
    (template,) = (document for document in documents if document["kind"] == "DevMachineTemplate")
    annotations = template["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"cluster.x-k8s.io/paused": "true"}
