"""The name of a kind's CRD, by which core finds it."""

from __future__ import annotations

from kapy.kube.plural import plural


def crd_name(group: str, kind: str) -> str:
    """Return `<plural>.<group>`, the CRD name that the contract requires."""
    return f"{plural(kind.lower())}.{group}"
