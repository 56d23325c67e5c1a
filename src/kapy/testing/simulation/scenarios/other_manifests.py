"""Manifests of MachinePools, external etcd and volumes."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kapy.kube import Document, Key, yaml
from kapy.kube.pki import new_ca
from kapy.remote.secrets import API_SERVER_ETCD_CLIENT, ETCD_CA, certificate_secret
from kapy.testing.simulation.scenarios.manifests import CLUSTER

POOL: Final = "meadow-mp"

_POOL: Final = """
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: meadow-mp, namespace: default}
spec:
  clusterName: meadow
  replicas: 2
  template:
    spec:
      clusterName: meadow
      version: v1.34.2
      bootstrap:
        configRef:
          apiGroup: bootstrap.cluster.x-k8s.io
          kind: KubeadmConfig
          name: meadow-mp
      infrastructureRef:
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: DevMachinePool
        name: meadow-mp
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachinePool
metadata: {name: meadow-mp, namespace: default}
spec:
  backend:
    inMemory:
      vm: {provisioning: {startupDuration: "2s"}}
      node: {provisioning: {startupDuration: "1s"}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: meadow-mp, namespace: default}
spec:
  joinConfiguration:
    nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: grass=green}]}
"""

_ETCD_FOLDER: Final = "/etc/kubernetes/pki"


def machine_pool(replicas: int) -> list[Document]:
    """Return the manifests of a MachinePool and of the objects that it refers to."""
    return list(yaml.load_all(_POOL.replace("replicas: 2", f"replicas: {replicas}")))


def with_external_etcd(documents: list[Document], now: datetime) -> list[Document]:
    """Return the manifests of a cluster with external etcd, and the certificates for it."""
    external = {
        "endpoints": ["https://etcd.example.com:2379"],
        "caFile": f"{_ETCD_FOLDER}/etcd/ca.crt",
        "certFile": f"{_ETCD_FOLDER}/apiserver-etcd-client.crt",
        "keyFile": f"{_ETCD_FOLDER}/apiserver-etcd-client.key",
    }
    for document in documents:
        if document["kind"] == "KubeadmControlPlane":
            configuration = document["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]
            configuration["etcd"] = {"external": external}
    authority = new_ca("etcd of others", now=now, algorithm="ECDSA-P256")
    cluster = Key("default", CLUSTER)
    secrets = [
        certificate_secret(cluster, ETCD_CA, authority),
        certificate_secret(cluster, API_SERVER_ETCD_CLIENT, authority),
    ]
    del secrets[0]["data"]["tls.key"]
    return [*({"apiVersion": "v1", "kind": "Secret", **secret} for secret in secrets), *documents]


def attached_volume(node: str) -> list[Document]:
    """Return a volume that is attached to a Node of a workload cluster."""
    source = {"csi": {"driver": "csi.example.com", "volumeHandle": "grass"}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "grass"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source},
    }
    attachment = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "grass"},
        "spec": {
            "attacher": "csi.example.com",
            "nodeName": node,
            "source": {"persistentVolumeName": "grass"},
        },
    }
    return [volume, attachment]
