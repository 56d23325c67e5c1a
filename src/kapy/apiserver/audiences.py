"""Audiences: for whom a token is meant. A server accepts tokens for itself only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
"""Who signs the tokens of service accounts."""
API_AUDIENCES: Final = (ISSUER,)
"""The server itself, as tokens name it: by its issuer, like kube-apiserver without
`--api-audiences`."""


def common(has: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The wanted audiences that a token has, in the order in which they are wanted."""
    return tuple(one for one in wanted if one in has)
