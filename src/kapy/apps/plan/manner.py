"""The flags of `kubectl apply` that decide how objects are applied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Options of `kubectl apply`. force: `--force-conflicts`. manager: `--field-manager`, "" for
    kubectl's own of either way."""

    server_side: bool = False
    force: bool = False
    manager: str = ""


DEFAULT = ApplyOptions()
