"""BeforeWorkersUpgrade: before workers get their next version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeWorkersUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """Asks BeforeWorkersUpgrade."""


BEFORE_WORKERS_UPGRADE: Final = Hook(
    "BeforeWorkersUpgrade",
    BeforeWorkersUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked before workers get their next version",
    description=(
        "For Clusters with a managed topology only. Asked only for versions that workers go "
        "through: the last one, and those in between that they cannot leave out. An answer that "
        "waits holds that step."
    ),
)
