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
    """Return merge patches for a Node and for its status; None if nothing changes.

    The Node gets the provider ID; one that waits for a cloud provider gets the machine's internal
    addresses, after its existing ones, and loses the taint.
    """
    spec, status = node.get("spec") or {}, node.get("status") or {}
    changed: Document = {}
    if not spec.get("providerID"):
        changed["providerID"] = provider_id
    taints = [taint for taint in spec.get("taints") or () if isinstance(taint, dict)]
    other_taints = [taint for taint in taints if taint.get("key") != TAINT]
    added: list[Document] = []
    if len(other_taints) != len(taints):
        changed["taints"] = other_taints or None
        current = [
            (address.get("type"), address.get("address"))
            for address in status.get("addresses") or ()
        ]
        added = [
            {"type": address.type, "address": address.address}
            for address in addresses
            if address.type == "InternalIP" and (address.type, address.address) not in current
        ]
    main: Document | None = None
    if changed:
        version = node["metadata"].get("resourceVersion")
        main = {"metadata": {"resourceVersion": version}, "spec": changed}
    if not added:
        return main, None
    return main, {"status": {"addresses": [*(status.get("addresses") or ()), *added]}}
