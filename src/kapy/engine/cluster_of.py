"""The Cluster that an object belongs to, and the replica that owns a Cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import log
from types import MappingProxyType
from typing import Final

from kapy.api.names import CLUSTER_GROUP, Label
from kapy.kube import Document, Key
from kapy.kube.names import split_api_version


def cluster_of(document: Document) -> Key:
    """Return the key of the Cluster that an object belongs to; its own key if it belongs to none
    yet.

    The Cluster is found by `spec.clusterName`, the label, or the owner references, in this order.
    """
    metadata = document["metadata"]
    return Key(metadata.get("namespace", ""), cluster_name_of(document) or metadata["name"])


def cluster_name_of(document: Document) -> str:
    """Return the name of the Cluster that an object belongs to, "" if it is a Cluster or belongs to
    none yet.
    """
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


NO_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({})


def rendezvous_owner(
    cluster: Key, members: Iterable[str], weights: Mapping[str, float] = NO_WEIGHTS
) -> str:
    """Return the member that owns a cluster, "" if there is no member (rendezvous hashing).

    When a member joins or leaves, only the clusters that it owns or owned move. weights: the shares
    of members in the clusters, where that of all others is 1.
    """
    if not weights:
        return max(members, key=lambda member: _hash(cluster, member), default="")
    return max(
        members, key=lambda member: _score(cluster, member, weights.get(member, 1.0)), default=""
    )


def _hash(cluster: Key, member: str) -> bytes:
    result = f"{member}/{cluster.namespace}/{cluster.name}"
    return blake2b(result.encode(), digest_size=8).digest()


def _score(cluster: Key, member: str, weight: float) -> float:
    """Return a score that is the highest one with a probability in proportion to the weight."""
    uniform = (int.from_bytes(_hash(cluster, member)) + 1) / 2**64
    return -weight / log(uniform) if uniform < 1 else float("inf")
