"""The reconciler of ExtensionConfigs."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from kapy.api.extension_config import ExtensionConfig
from kapy.conditions.change import set_condition
from kapy.conditions.paused import paused_condition, report_pause
from kapy.core.extensionconfig.authority import inject_authority
from kapy.core.extensionconfig.scope import ConfigScope, Dependencies
from kapy.core.extensionconfig.status import registered_handlers, update_status
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError

FIRST_DELAY: Final = 0.5
MAX_DELAY: Final = 30.0
"""The first and the longest delay in seconds until the discovery of a server is retried."""

_log = logging.getLogger(__name__)


async def discover(scope: ConfigScope) -> Result:
    """Discover handlers; former ones stay if the server does not answer."""
    try:
        await inject_authority(scope)
        handlers = await scope.dependencies.caller.discover(scope.config)
    except KapyError as error:
        scope.undiscovered = error
    else:
        scope.config.status.handlers = registered_handlers(scope.config, handlers)
    return _requeue_for_discovery(scope)


def _requeue_for_discovery(scope: ConfigScope) -> Result:
    """Requeue the ExtensionConfig for the next discovery: a server's changed response causes no
    event.
    """
    failures, error, key = scope.dependencies.failures, scope.undiscovered, scope.config.key
    if error is None:
        failures.pop(key, None)
        return DONE
    _log.warning("extensionconfig: %s is not discovered: %s", key.name, error)
    count = failures[key] = failures.get(key, 0) + 1
    seconds = min(FIRST_DELAY * 2.0 ** min(count - 1, 16), MAX_DELAY)
    seconds *= 0.75 + scope.dependencies.random.random() / 4
    return requeue(after=timedelta(seconds=seconds), because=str(error))


class ExtensionConfigReconciler(Reconciler[ExtensionConfig, ConfigScope]):
    """Reconciles ExtensionConfigs: discovers the handlers of their extension servers."""

    normal = (discover,)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(ExtensionConfig, dependencies.configs, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ExtensionConfig]) -> ConfigScope | Result:
        if draft.object.deleting:
            self.forget(draft.object.key)
            return DONE
        return ConfigScope(self.dependencies, draft, self.dependencies.clock())

    def pause(self, scope: ConfigScope) -> bool:
        return report_pause(scope.config, None, scope.now)

    def set_status(self, scope: ConfigScope) -> Result:
        set_condition(scope.config, paused_condition(scope.config, None), scope.now)
        update_status(scope)
        return DONE

    def set_observed_generation(self, scope: ConfigScope) -> None:
        """Do nothing: the status of an ExtensionConfig has no such field."""

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.failures.pop(key, None)
