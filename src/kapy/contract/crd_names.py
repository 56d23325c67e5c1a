"""The name of the CRD of a kind: core finds a provider's CRD by nothing else."""

from __future__ import annotations

from kapy.kube.plural import plural


def crd_name(group: str, kind: str) -> str:
    """`<plural>.<group>`: the contract requires CRDs to be named so."""
    return f"{plural(kind.lower())}.{group}"
