"""Token audiences. A server accepts only tokens for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
"""The issuer of service account tokens."""
API_AUDIENCES: Final = (ISSUER,)
"""The audience of the server itself: the issuer, like kube-apiserver without `--api-audiences`."""


def intersect_audiences(has: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted audiences that a token has, in the order of `wanted`."""
    return tuple(item for item in wanted if item in has)
