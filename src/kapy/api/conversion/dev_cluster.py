"""DevCluster and its template in v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.failure_domains import domains_from_hub, domains_to_hub
from kapy.api.conversion.infrastructure import (
    cluster_status_from_hub,
    cluster_status_to_hub,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document


def _cluster_to_hub(cluster: Document, remembered: Document | None) -> None:
    _spec_to_hub(cluster["spec"])
    cluster_status_to_hub(cluster["status"], remembered)


def _cluster_from_hub(cluster: Document, _: ReferenceVersion) -> None:
    _spec_from_hub(cluster["spec"])
    cluster_status_from_hub(cluster["status"])


def _template_to_hub(template: Document, _: Document | None) -> None:
    _spec_to_hub(template["spec"]["template"]["spec"])


def _template_from_hub(template: Document, _: ReferenceVersion) -> None:
    _spec_from_hub(template["spec"]["template"]["spec"])


def _spec_to_hub(spec: Document) -> None:
    if docker := spec["backend"].get("docker"):
        domains_to_hub(docker)


def _spec_from_hub(spec: Document) -> None:
    if docker := spec["backend"].get("docker"):
        domains_from_hub(docker)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("DevCluster", "v1beta1"): Spoke(_cluster_to_hub, _cluster_from_hub),
    ("DevClusterTemplate", "v1beta1"): Spoke(_template_to_hub, _template_from_hub, remembers=False),
}
