"""The Cluster that an object belongs to, and the replica that owns a Cluster."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from kapy.api.names import CLUSTER_GROUP, Label
from kapy.kube import Document, Key
from kapy.kube.names import split_api_version


def cluster_of(document: Document) -> Key:
    """Return the key of the Cluster that an object belongs to; its own key if it belongs to none
    yet.

    The Cluster is found by `spec.clusterName`, the label, or the owner references, in this order.
    """
    metadata = document["metadata"]
    return Key(metadata.get("namespace", ""), _cluster_name(document) or metadata["name"])


def _cluster_name(document: Document) -> str:
    if _is_cluster(document):
        return ""
    metadata = document["metadata"]
    spec = document.get("spec") or {}
    if name := spec.get("clusterName") or (metadata.get("labels") or {}).get(Label.CLUSTER_NAME):
        return str(name)
    owners = metadata.get("ownerReferences") or ()
    return next((str(owner["name"]) for owner in owners if _is_cluster(owner)), "")


def _is_cluster(named: Document) -> bool:
    return (
        named.get("kind") == "Cluster"
        and split_api_version(named.get("apiVersion", ""))[0] == CLUSTER_GROUP
    )


def rendezvous_owner(cluster: Key, members: Iterable[str]) -> str:
    """Return the member that owns a cluster, "" if there is no member (rendezvous hashing).

    When a member joins or leaves, only the clusters that it owns or owned move.
    """
    return max(members, key=lambda member: _weight(cluster, member), default="")


def _weight(cluster: Key, member: str) -> bytes:
    result = f"{member}/{cluster.namespace}/{cluster.name}"
    return blake2b(result.encode(), digest_size=8).digest()
