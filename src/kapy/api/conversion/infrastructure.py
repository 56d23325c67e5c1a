"""What conversion is for all kinds of infrastructure (upstream's test/infrastructure/docker)."""

from __future__ import annotations

from typing import Final

from kapy.api.conversion.failure_domains import domains_from_hub, domains_to_hub
from kapy.api.conversion.moves import (
    initialization_from_hub,
    initialization_to_hub,
    put,
    status_from_hub,
    status_to_hub,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_INITIALIZATION: Final = {"ready": "provisioned"}


def provisioned_to_hub(status: Document, remembered: Document | None) -> None:
    """Conditions, and `ready` as `initialization.provisioned`."""
    status_to_hub(status, ())
    initialization_to_hub(status, remembered, _INITIALIZATION)


def provisioned_from_hub(status: Document) -> None:
    """The way back of `provisioned_to_hub`."""
    status_from_hub(status, ())
    initialization_from_hub(status, _INITIALIZATION)


def cluster_status_to_hub(status: Document, remembered: Document | None) -> None:
    """The status of a cluster's infrastructure."""
    domains_to_hub(status)
    provisioned_to_hub(status, remembered)


def cluster_status_from_hub(status: Document) -> None:
    """The way back of `cluster_status_to_hub`."""
    domains_from_hub(status)
    provisioned_from_hub(status)


def _machine_to_hub(machine: Document, remembered: Document | None) -> None:
    status = machine["status"]
    provisioned_to_hub(status, remembered)
    # v1beta1 has no place for it.
    put(status, "failureDomain", value_at(remembered, "status", "failureDomain"))


def _machine_from_hub(machine: Document, _: ReferenceVersion) -> None:
    provisioned_from_hub(machine["status"])


def _template_to_hub(template: Document, remembered: Document | None) -> None:
    # v1beta1 has no status of it.
    put(template, "status", value_at(remembered, "status"))


def _template_from_hub(template: Document, _: ReferenceVersion) -> None:
    template.pop("status")


MACHINE: Final = Spoke(_machine_to_hub, _machine_from_hub)
MACHINE_TEMPLATE: Final = Spoke(_template_to_hub, _template_from_hub)
