"""What all of Kubernetes' own kinds have in common when they are written."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.resources.builtin.defaults import DEFAULTS
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.strategy import Strategy
from kapy.apiserver.resources.structs import decoder, struct_of
from kapy.apiserver.store.table import Table
from kapy.kube import Document

_CREATED_BY_UPDATE: Final = frozenset(
    (
        "clusterrolebindings",
        "clusterroles",
        "endpoints",
        "events",
        "leasecandidates",
        "leases",
        "limitranges",
        "rolebindings",
        "roles",
        "services",
    )
)
_LOOKED_AT_TWICE: Final = frozenset(
    ("clusterrolebindings", "clusterroles", "configmaps", "rolebindings", "roles", "secrets")
)
_CONDITIONAL: Final = frozenset(
    (
        "csidrivers",
        "csinodes",
        "csistoragecapacities",
        "customresourcedefinitions",
        "leasecandidates",
        "leases",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "poddisruptionbudgets",
        "runtimeclasses",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
        "volumeattachments",
    )
)


class BuiltIn(Strategy):
    """A kind with the flags of its row."""

    def __init__(self, row: Row) -> None:
        self.generation = "g" in row.flags
        self.status = "s" in row.flags
        table = f"{row.plural}.{row.group}" if row.group else row.plural
        self.created_by_update = row.plural in _CREATED_BY_UPDATE
        self.unconditional = row.plural not in _CONDITIONAL
        self.looks = 2 if row.plural in _LOOKED_AT_TWICE else 1
        self._fill = DEFAULTS.get(table)
        self._struct = struct_of(row.group, row.version, row.kind) or ""

    def default(self, document: Document) -> None:
        if self._fill is not None:
            self._fill(document)

    def prepare_create(self, document: Document, table: Table) -> None:
        """A new object has the status that nobody reported yet."""
        del table
        if self.status and self._struct:
            zero = decoder(self._struct)({}, None, [])
            if "status" in zero:
                document["status"] = zero["status"]
