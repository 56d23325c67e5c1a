"""What clusterctl asks of a running provider."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import belonging, limits, moving
from kapy.testing.conformance.behaviour.check import Check

CHECKS: Final = (
    Check("clusterctl/namespace-flag", limits.namespace_flag, stage=1),
    Check("clusterctl/owners", belonging.owners),
    Check("clusterctl/move", moving.move, stage=2),
    Check("clusterctl/status", moving.status, stage=2),
)
