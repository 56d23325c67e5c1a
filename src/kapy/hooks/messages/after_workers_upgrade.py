"""AfterWorkersUpgrade: workers have their next version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, AfterUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class AfterWorkersUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """Asks AfterWorkersUpgrade."""


AFTER_WORKERS_UPGRADE: Final = Hook(
    "AfterWorkersUpgrade",
    AfterWorkersUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked when workers have their next version",
    description=(
        "For Clusters with a managed topology only. All workers have the version of the request. "
        "An answer that waits holds what follows: the control plane's next version, or "
        "AfterClusterUpgrade."
    ),
)
