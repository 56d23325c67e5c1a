"""What a plan asks of extensions: what they would make of a Cluster, and nothing that acts.

Patches, their checks, variables and upgrade plans are functions of their requests, and a plan asks
for them. Who is told of a Cluster's life may act on it, or hold it for a while: a plan assumes that
all of them agree.
"""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.apps.extensions.lifecycle import Lifecycle
from kapy.topology.hooks import Answer, Hook


class Foreseen(Lifecycle):
    """Nobody is told anything; upgrade plans are asked for."""

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:  # noqa: ARG002
        return False

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:  # noqa: ARG002
        return Answer()
