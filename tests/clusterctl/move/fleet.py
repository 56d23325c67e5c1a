"""Small clusters to move: every kind of link between objects, few objects."""

from __future__ import annotations

from typing import Any

from kapy.clusterctl.move.kinds import MOVE
from kapy.kube import Document

NOW = "2026-01-01T00:00:00Z"
CLUSTER, CONTROL_PLANE = "cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"
INFRA, BOOTSTRAP = "infrastructure.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io"

KINDS = (
    "Cluster",
    "ClusterClass",
    "Machine",
    "ClusterResourceSet",
    "ClusterResourceSetBinding",
    "KubeadmConfig",
    "KubeadmControlPlaneTemplate",
    "DevCluster",
    "DevClusterTemplate",
    "DevMachine",
    "DevMachineTemplate",
)
"""The kinds of Cluster API that occur here."""


def obj(
    api: str, kind: str, name: str, *owners: Document, namespace: str = "fleet", **more: Any
) -> Document:
    """An object; `labels`, `annotations` and `finalizers` go where they belong."""
    metadata: Document = {"name": name, "uid": f"{kind}/{namespace}/{name}"}
    if namespace:
        metadata["namespace"] = namespace
    for part in ("labels", "annotations", "finalizers"):
        if part in more:
            metadata[part] = more.pop(part)
    if owners:
        metadata["ownerReferences"] = [owned_by(owner) for owner in owners]
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **more}


def owned_by(owner: Document) -> Document:
    metadata = owner["metadata"]
    document = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**document, "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def secret(name: str, *owners: Document, **more: Any) -> Document:
    return obj("v1", "Secret", name, *owners, data={"value": "eA=="}, type="Opaque", **more)


def reference(document: Document) -> Document:
    group = document["apiVersion"].partition("/")[0]
    return {"apiGroup": group, "kind": document["kind"], "name": document["metadata"]["name"]}


def condition(of_type: str) -> Document:
    messages = {"type": of_type, "status": "True", "reason": of_type, "message": ""}
    return {**messages, "lastTransitionTime": NOW}


def cluster(name: str, *, namespace: str = "fleet", class_name: str = "") -> list[Document]:
    """A provisioned cluster of one machine, with certificates that a user has made."""
    here: Document = {"namespace": namespace}
    infra = obj(f"{INFRA}/v1beta2", "DevCluster", name, spec={}, **here)
    ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    spec: Document = {"infrastructureRef": reference(infra)}
    if class_name:
        spec["topology"] = {"classRef": {"name": class_name}, "version": "v1.34.0"}
    top = obj(
        f"{CLUSTER}/v1beta2",
        "Cluster",
        name,
        spec=spec,
        status={"initialization": ready, "conditions": [condition("ControlPlaneInitialized")]},
        finalizers=["cluster.cluster.x-k8s.io"],
        labels={"cni": "yes"},
        **here,
    )
    infra["metadata"]["ownerReferences"] = [owned_by(top)]
    return [top, infra, secret(f"{name}-ca", **here), *machine(name, top, **here)]


def machine(name: str, top: Document, **here: Any) -> list[Document]:
    dev = obj(f"{INFRA}/v1beta2", "DevMachine", f"{name}-0", spec={}, **here)
    config = obj(
        f"{BOOTSTRAP}/v1beta2", "KubeadmConfig", f"{name}-0", spec={"verbosity": 2}, **here
    )
    document = obj(
        f"{CLUSTER}/v1beta2",
        "Machine",
        f"{name}-0",
        top,
        spec={
            "clusterName": name,
            "bootstrap": {"configRef": reference(config)},
            "infrastructureRef": reference(dev),
        },
        status={"nodeRef": {"name": f"{name}-0"}},
        finalizers=["machine.cluster.x-k8s.io"],
        **here,
    )
    for item in (dev, config):
        item["metadata"]["ownerReferences"] = [owned_by(document)]
    return [document, dev, config, secret(f"{name}-0", config, **here)]


def resource_set() -> list[Document]:
    """A ClusterResourceSet with what it applies, and what it has applied to cluster a."""
    addons = "addons.cluster.x-k8s.io/v1beta2"
    top = obj(
        addons,
        "ClusterResourceSet",
        "cni",
        spec={
            "clusterSelector": {"matchLabels": {"cni": "yes"}},
            "resources": [{"kind": "ConfigMap", "name": "cni"}],
        },
    )
    binding = obj(addons, "ClusterResourceSetBinding", "a", top, spec={"clusterName": "a"})
    return [top, obj("v1", "ConfigMap", "cni", top, data={"cni.yaml": "{}"}), binding]


def identity() -> list[Document]:
    """A cluster-scoped identity, with the credentials that it owns."""
    top = obj(f"{INFRA}/v1beta2", "FakeIdentity", "cloud", namespace="", spec={"user": "u"})
    return [top, secret("cloud-credentials", top)]


def bystanders() -> list[Document]:
    """A Secret that no move touches, and a Secret that is moved only for its label."""
    return [secret("unrelated"), secret("cpi", labels={MOVE: ""})]


def fleet() -> list[Document]:
    """Three clusters and everything around them."""
    clusters = [document for name in "abc" for document in cluster(name)]
    return [*clusters, *resource_set(), *identity(), *bystanders()]


def cluster_class(name: str, *, namespace: str = "fleet") -> list[Document]:
    """A ClusterClass and the templates that it owns."""
    here: Document = {"namespace": namespace}
    infra = obj(f"{INFRA}/v1beta2", "DevClusterTemplate", name, **here)
    infra["spec"] = {"template": {"spec": {"backend": {"inMemory": {}}}}}
    machines = obj(f"{INFRA}/v1beta2", "DevMachineTemplate", name, **here)
    machines["spec"] = {"template": {"spec": {"backend": {"inMemory": {}}}}}
    control = obj(f"{CONTROL_PLANE}/v1beta2", "KubeadmControlPlaneTemplate", name, **here)
    control["spec"] = {"template": {"spec": {"kubeadmConfigSpec": {"verbosity": 2}}}}
    spec = {
        "infrastructure": {"templateRef": template(infra)},
        "controlPlane": {
            "templateRef": template(control),
            "machineInfrastructure": {"templateRef": template(machines)},
        },
    }
    top = obj(f"{CLUSTER}/v1beta2", "ClusterClass", name, spec=spec, **here)
    for document in (infra, machines, control):
        document["metadata"]["ownerReferences"] = [owned_by(top)]
    return [top, infra, machines, control]


def template(document: Document) -> Document:
    name = document["metadata"]["name"]
    return {"apiVersion": document["apiVersion"], "kind": document["kind"], "name": name}


def classes() -> list[Document]:
    """Clusters with classes: of the same namespace, of another one, and one that others use."""
    shared = [*cluster_class("shared"), *cluster("d", class_name="shared")]
    elsewhere = cluster("e", namespace="other", class_name="shared")
    elsewhere[0]["spec"]["topology"]["classRef"]["namespace"] = "fleet"
    foreign = [*cluster_class("foreign", namespace="library"), *cluster("f", class_name="foreign")]
    of_f = foreign[4]
    of_f["spec"]["topology"]["classRef"]["namespace"] = "library"
    own = [*cluster_class("own"), *cluster("g", class_name="own")]
    return [*shared, *elsewhere, *foreign, *own]
