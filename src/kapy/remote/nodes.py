"""Find the Nodes of workload clusters by provider ID."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kapy.engine.cache import Informer
from kapy.kube import Document

BY_PROVIDER_ID: Final = "providerID"


def provider_id_of(node: Document) -> str:
    """Return `spec.providerID` of a Node, "" if it has none yet."""
    result: str = (node.get("spec") or {}).get("providerID") or ""
    return result


def nodes_with(nodes: Informer[Document], provider_id: str) -> Sequence[Document]:
    """Return the Nodes that have a provider ID: normally one."""
    nodes.add_index(BY_PROVIDER_ID, _provider_ids)
    return nodes.list_by_index(BY_PROVIDER_ID, provider_id)


def _provider_ids(node: Document) -> Iterable[str]:
    provider_id = provider_id_of(node)
    return (provider_id,) if provider_id else ()
