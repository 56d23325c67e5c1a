"""What clusterctl asks of a running provider."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import limits
from kapy.testing.conformance.behaviour.check import Check

CHECKS: Final = (Check("clusterctl/namespace-flag", limits.namespace_flag, stage=1),)
