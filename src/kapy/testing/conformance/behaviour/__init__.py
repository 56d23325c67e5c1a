"""The checks of a running provider, one for each rule."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import (
    bootstrap_config,
    clusterctl,
    control_plane,
    infrastructure,
    ipam,
    ipam_consumers,
)
from kapy.testing.conformance.behaviour.assertions import (
    check_infra_cluster,
    check_infra_machine,
    check_infra_machine_pool,
)

__all__ = [
    "BEHAVIOUR",
    "check_infra_cluster",
    "check_infra_machine",
    "check_infra_machine_pool",
]

BEHAVIOUR: Final = (
    *infrastructure.CLUSTER_CHECKS,
    *infrastructure.MACHINE_CHECKS,
    *infrastructure.POOL_CHECKS,
    *bootstrap_config.CHECKS,
    *control_plane.CHECKS,
    *clusterctl.CHECKS,
    *ipam.CHECKS,
    *ipam_consumers.CHECKS,
)
