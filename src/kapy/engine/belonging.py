"""Which cluster an object belongs to, and which of several programs a cluster falls to."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from kapy.api.names import CLUSTER_GROUP, Label
from kapy.kube import Document, Key
from kapy.kube.names import split_api_version


def cluster_of(document: Document) -> Key:
    """The key of the Cluster that an object belongs to; its own where it belongs to none (yet).

    By `spec.clusterName`, the label, or the Cluster among its owners, in this order.
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
    return next((str(one["name"]) for one in owners if _is_cluster(one)), "")


def _is_cluster(named: Document) -> bool:
    return (
        named.get("kind") == "Cluster"
        and split_api_version(named.get("apiVersion", ""))[0] == CLUSTER_GROUP
    )


def chosen(cluster: Key, members: Iterable[str]) -> str:
    """Whom of these a cluster falls to, "" where there is nobody (rendezvous hashing).

    When one comes or goes, only the clusters move that fall to it or fell to it.
    """
    return max(members, key=lambda member: _weight(cluster, member), default="")


def _weight(cluster: Key, member: str) -> bytes:
    told = f"{member}/{cluster.namespace}/{cluster.name}"
    return blake2b(told.encode(), digest_size=8).digest()
