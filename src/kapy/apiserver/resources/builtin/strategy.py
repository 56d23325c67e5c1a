"""Common behaviour of Kubernetes' own kinds on writes."""

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
"""Kinds whose updates require a resourceVersion."""

_COMPARED: Final = (0, 1)
_CHECKED: Final = (1, 0)
_LOOKS: Final[dict[tuple[str, str], tuple[int, int]]] = {
    ("", "events"): (0, 0),
    ("", "limitranges"): _CHECKED,
    ("", "persistentvolumes"): (2, 0),
    ("", "podtemplates"): _COMPARED,
    ("", "replicationcontrollers"): _COMPARED,
    ("", "resourcequotas"): _COMPARED,
    ("", "services"): _COMPARED,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _CHECKED,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _CHECKED,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _COMPARED,
    ("apps", "daemonsets"): _COMPARED,
    ("apps", "deployments"): _COMPARED,
    ("apps", "replicasets"): _COMPARED,
    ("apps", "statefulsets"): _COMPARED,
    ("autoscaling", "horizontalpodautoscalers"): _COMPARED,
    ("batch", "cronjobs"): _COMPARED,
    ("coordination.k8s.io", "leases"): _COMPARED,
    ("discovery.k8s.io", "endpointslices"): _CHECKED,
    ("events.k8s.io", "events"): _COMPARED,
    ("networking.k8s.io", "networkpolicies"): _COMPARED,
    ("policy", "poddisruptionbudgets"): (0, 0),
    ("scheduling.k8s.io", "priorityclasses"): _COMPARED,
    ("storage.k8s.io", "csidrivers"): _COMPARED,
}
"""Kinds whose updates (of the object, of its status) do not validate the metadata exactly once."""


class BuiltInStrategy(Strategy):
    """A built-in kind with the flags of its row."""

    def __init__(self, row: Row) -> None:
        self.generation = "g" in row.flags
        self.status = "s" in row.flags
        self.metadata_checks = _LOOKS.get((row.group, row.plural), self.metadata_checks)
        if (row.group, row.plural) == ("", "nodes"):
            self.status_metadata_checks = self.metadata_checks
        table = f"{row.plural}.{row.group}" if row.group else row.plural
        self.allow_create_on_update = row.plural in _CREATED_BY_UPDATE
        self.allow_unconditional_update = row.plural not in _CONDITIONAL
        self._fill = DEFAULTS.get(table)
        self._struct = struct_of(row.group, row.version, row.kind) or ""

    def default(self, document: Document) -> None:
        if self._fill is not None:
            self._fill(document)

    def prepare_create(self, document: Document, table: Table) -> None:
        """Reset the status of a new object to its zero value."""
        del table
        if self.status and self._struct:
            zero = decoder(self._struct)({}, None, [])
            if "status" in zero:
                document["status"] = zero["status"]
