"""The Node of a machine: what a cloud controller manager would do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.kube import Document
from kapy.sdk import Address

TAINT: Final = "node.cloudprovider.kubernetes.io/uninitialized"


def node_patches(
    node: Document, provider_id: str, addresses: Sequence[Address]
) -> tuple[Document | None, Document | None]:
    """Merge patches of a Node and of its status, None where nothing is to be changed.

    The Node gets the provider ID; one that waits for a cloud provider gets the machine's internal
    addresses, behind those that it has, and loses the taint.
    """
    spec, status = node.get("spec") or {}, node.get("status") or {}
    changed: Document = {}
    if not spec.get("providerID"):
        changed["providerID"] = provider_id
    taints = [one for one in spec.get("taints") or () if isinstance(one, dict)]
    left = [one for one in taints if one.get("key") != TAINT]
    added: list[Document] = []
    if len(left) != len(taints):
        changed["taints"] = left or None
        known = [(one.get("type"), one.get("address")) for one in status.get("addresses") or ()]
        added = [
            {"type": one.type, "address": one.address}
            for one in addresses
            if one.type == "InternalIP" and (one.type, one.address) not in known
        ]
    main: Document | None = None
    if changed:
        version = node["metadata"].get("resourceVersion")
        main = {"metadata": {"resourceVersion": version}, "spec": changed}
    if not added:
        return main, None
    return main, {"status": {"addresses": [*(status.get("addresses") or ()), *added]}}
