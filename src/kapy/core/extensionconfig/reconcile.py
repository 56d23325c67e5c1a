"""One reconcile of an ExtensionConfig: CA, handlers, writes."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from kapy.api.extension_config import ExtensionConfig
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.extensionconfig.authority import inject_authority
from kapy.core.extensionconfig.scope import ConfigScope, Tools
from kapy.core.extensionconfig.status import registered_handlers, update_status
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError

FIRST_DELAY: Final = 0.5
MAX_DELAY: Final = 30.0
"""Seconds after which a server that was not discovered is asked again, at first and at last."""

_log = logging.getLogger(__name__)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Discover the handlers of a server."""
    document = tools.configs.raw(key)
    if document is None or document["metadata"].get("deletionTimestamp"):
        tools.failures.pop(key, None)
        return DONE
    draft = Draft(tools.client, ExtensionConfig, document)
    scope = ConfigScope(tools, draft, tools.clock())
    set_condition(scope.config, paused_condition(scope.config, None), scope.now)
    if is_paused(scope.config, None):
        await draft.save()
        return DONE
    await _discover(scope)
    update_status(scope)
    await draft.save()
    return _requeue_for_discovery(scope, key)


async def _discover(scope: ConfigScope) -> None:
    """Discover handlers; former ones stay if the server does not answer."""
    try:
        await inject_authority(scope)
        handlers = await scope.tools.caller.discover(scope.config)
    except KapyError as error:
        scope.undiscovered = error
    else:
        scope.config.status.handlers = registered_handlers(scope.config, handlers)


def _requeue_for_discovery(scope: ConfigScope, key: Key) -> Result:
    """Return a timer: there is no event when a server's answer changes."""
    failures, error = scope.tools.failures, scope.undiscovered
    if error is None:
        failures.pop(key, None)
        return DONE
    _log.warning("extensionconfig: %s is not discovered: %s", key.name, error)
    count = failures[key] = failures.get(key, 0) + 1
    seconds = min(FIRST_DELAY * 2.0 ** min(count - 1, 16), MAX_DELAY)
    seconds *= 0.75 + scope.tools.random.random() / 4
    return requeue(after=timedelta(seconds=seconds), because=str(error))
