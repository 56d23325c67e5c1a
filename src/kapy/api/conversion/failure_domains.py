"""Failure domains: a map by name in v1beta1, a list in v1beta2."""

from __future__ import annotations

from kapy.kube import Document


def domains_to_hub(part: Document) -> None:
    """The map `failureDomains` of a part of an object as a list in the order of the names."""
    if domains := part.pop("failureDomains", None):
        part["failureDomains"] = [
            {
                "name": name,
                "controlPlane": domain.get("controlPlane", False),
                "attributes": domain.get("attributes", {}),
            }
            for name, domain in sorted(domains.items())
        ]


def domains_from_hub(part: Document) -> None:
    """The way back of `domains_to_hub`."""
    if domains := part.pop("failureDomains", None):
        part["failureDomains"] = {
            domain.get("name", ""): {
                "controlPlane": domain.get("controlPlane", False),
                "attributes": domain.get("attributes", {}),
            }
            for domain in domains
        }
