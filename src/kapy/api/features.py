"""Feature gates that decide what objects may say, with upstream's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Gates that defaulting and validation ask about (`feature/feature.go`)."""

    cluster_topology: bool = False
    kubeadm_bootstrap_format_ignition: bool = False
    machine_pool: bool = True
    machine_set_preflight_checks: bool = True
    machine_taint_propagation: bool = False
    runtime_sdk: bool = False


DEFAULT_GATES = FeatureGates()
