"""Calls of extensions in a plan: only hooks without side effects.

Patches, validation, variables and upgrade plans are functions of their requests, so a plan calls
these hooks. Lifecycle hooks may act on a Cluster or block it for a while: a plan assumes that all
of them agree.
"""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.apps.extensions.lifecycle import Lifecycle
from kapy.topology.hooks import Answer, Hook


class PlanningLifecycle(Lifecycle):
    """No lifecycle hook is called; upgrade plans are requested."""

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:  # noqa: ARG002
        return False

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:  # noqa: ARG002
        return Answer()
