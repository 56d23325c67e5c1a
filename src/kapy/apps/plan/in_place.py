"""Who may have Machines updated in place, where a plan counts them as replaced.

A plan does not know whether the InPlaceUpdates gate is open where it will be carried out, and an
extension may think better of it until it is asked for good. So a plan tells the longer way, and who
may make it shorter.
"""

from __future__ import annotations

from kapy.api.extension_config import ExtensionConfig
from kapy.apps.plan.objects import Objects


def updating_handlers(objects: Objects, hook: str) -> list[str]:
    """The handlers that decide on a kind of update, by name."""
    return sorted(
        handler.name
        for one in objects.all(ExtensionConfig)
        for handler in one.status.handlers
        if handler.request_hook.hook == hook
    )
