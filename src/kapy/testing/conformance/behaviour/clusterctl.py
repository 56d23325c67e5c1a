"""Checks of the rules that clusterctl has for running providers."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import limits, move_discovery, moving
from kapy.testing.conformance.behaviour.check import Check

CHECKS: Final = (
    Check("clusterctl/namespace-flag", limits.namespace_flag, stage=1),
    Check("clusterctl/owners", move_discovery.owners),
    Check("clusterctl/move", moving.move, stage=2),
    Check("clusterctl/status", moving.status, stage=2),
)
