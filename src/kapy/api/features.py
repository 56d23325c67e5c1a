"""Feature gates, with upstream's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The feature gates (`feature/feature.go`), for admission and for controllers."""

    cluster_topology: bool = False
    in_place_updates: bool = False
    kubeadm_bootstrap_format_ignition: bool = False
    machine_pool: bool = True
    machine_set_preflight_checks: bool = True
    machine_taint_propagation: bool = False
    machine_wait_for_volume_detach_consider_volume_attachments: bool = True
    priority_queue: bool = True
    reconciler_rate_limiting: bool = True
    runtime_sdk: bool = False


DEFAULT_GATES = FeatureGates()
