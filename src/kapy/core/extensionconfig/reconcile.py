"""The reconciler of ExtensionConfigs: dependencies, scope, phase and status.

The phase injects the CA of a server, and discovers the handlers of the server. The CA is that of
the Secret which an annotation names. This corresponds to cert-manager's injector for webhooks
(upstream's `inject-ca-from-secret`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy.api.extension_config import ExtensionConfig, ExtensionHandler, GroupVersionHook
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.client.client import Client
from kapy.conditions import v1beta1
from kapy.conditions.change import delete_condition, set_condition
from kapy.conditions.lookup import false, true
from kapy.conditions.paused import paused_condition, report_pause
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.hooks.caller import Caller
from kapy.hooks.catalog import deprecations
from kapy.hooks.messages import discovery
from kapy.hooks.registry import registered_name
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import SECRETS

_ENTRY: Final = "ca.crt"
_FAILED: Final = "failed to reconcile caBundle"
_FIRST_DELAY: Final = 0.5
_MAX_DELAY: Final = 30.0
"""The first and the longest delay in seconds until the discovery of a server is retried."""

_log = logging.getLogger(__name__)


class NoAuthority(KapyError):
    """The Secret that an annotation names cannot be used."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the ExtensionConfig reconciler.

    failures: consecutive failures of discovery, by key.
    """

    client: Client
    configs: Informer[Document]
    caller: Caller
    clock: Clock
    random: Random
    failures: dict[Key, int] = field(default_factory=dict)


@dataclass(slots=True)
class ConfigScope:
    """The state of one reconcile of an ExtensionConfig. undiscovered: the error because of which
    its handlers are not known.
    """

    dependencies: Dependencies
    draft: Draft[ExtensionConfig]
    now: datetime
    undiscovered: KapyError | None = None

    @property
    def config(self) -> ExtensionConfig:
        return self.draft.object


async def _discover(scope: ConfigScope) -> Result:
    """Discover handlers; former ones stay if the server does not answer."""
    try:
        await _inject_authority(scope)
        handlers = await scope.dependencies.caller.discover(scope.config)
    except KapyError as error:
        scope.undiscovered = error
    else:
        scope.config.status.handlers = registered_handlers(scope.config, handlers)
    return _requeue_for_discovery(scope)


async def _inject_authority(scope: ConfigScope) -> None:
    """Write the CA into the ExtensionConfig. Raises NoAuthority."""
    name = scope.config.metadata.annotations.get(Annotation.INJECT_CA_FROM_SECRET)
    if name is None:
        return
    bundle = await bundle_of(scope.dependencies.client, name)
    if scope.config.spec.client_config.ca_bundle != bundle:
        scope.config.spec.client_config.ca_bundle = bundle
        await scope.draft.save_spec()


async def bundle_of(client: Client, name: str) -> str:
    """Return the CA, PEM in base64, from the Secret with that namespaced name. Raises
    NoAuthority.
    """
    namespace, _, secret = name.partition("/")
    if not namespace or not secret:
        raise NoAuthority(f'{_FAILED}: secret name "{name}" must be in the form <namespace>/<name>')
    try:
        document = await client.get(SECRETS, Key(namespace, secret))
    except KapyError as error:
        raise NoAuthority(f'{_FAILED}: failed to get secret "{name}": {error}') from error
    data = document.get("data") or {}
    if _ENTRY not in data:
        raise NoAuthority(f'{_FAILED}: secret {name} does not contain a "{_ENTRY}" entry')
    return str(data[_ENTRY])


def secret_of(config: Document) -> Key | None:
    """Return the Secret that an ExtensionConfig's annotation names."""
    annotations = config["metadata"].get("annotations") or {}
    namespace, _, name = annotations.get(Annotation.INJECT_CA_FROM_SECRET, "").partition("/")
    return Key(namespace, name) if namespace and name else None


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
    seconds = min(_FIRST_DELAY * 2.0 ** min(count - 1, 16), _MAX_DELAY)
    seconds *= 0.75 + scope.dependencies.random.random() / 4
    return requeue(after=timedelta(seconds=seconds), because=str(error))


def registered_handlers(
    config: ExtensionConfig, handlers: Sequence[discovery.ExtensionHandler]
) -> list[ExtensionHandler]:
    """Return the handlers of a server under their registered names."""
    return [
        ExtensionHandler(
            name=registered_name(handler.name, config.metadata.name),
            request_hook=GroupVersionHook(
                api_version=handler.request_hook.api_version, hook=handler.request_hook.hook
            ),
            timeout_seconds=handler.timeout_seconds or 0,
            failure_policy=handler.failure_policy or "",
        )
        for handler in handlers
    ]


class ExtensionConfigReconciler(Reconciler[ExtensionConfig, ConfigScope]):
    """Reconciles ExtensionConfigs: discovers the handlers of their extension servers."""

    normal = (_discover,)

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


def update_status(scope: ConfigScope) -> None:
    """Report whether the handlers are known, and why not."""
    config, now = scope.config, scope.now
    legacy = v1beta1.conditions_of(config)
    if scope.undiscovered is None:
        set_condition(config, true(ConditionType.DISCOVERED, Reason.DISCOVERED), now)
        v1beta1.set_condition(legacy, v1beta1.true(V1Beta1Type.DISCOVERED), now)
        _report_deprecations(scope)
        return
    message = f"Error in discovery: {scope.undiscovered}"
    set_condition(config, false(ConditionType.DISCOVERED, Reason.NOT_DISCOVERED, message), now)
    reason = V1Beta1Reason.DISCOVERY_FAILED
    old = v1beta1.false(V1Beta1Type.DISCOVERED, reason, v1beta1.ERROR, message)
    v1beta1.set_condition(legacy, old, now)


def _report_deprecations(scope: ConfigScope) -> None:
    """Set a kapy-specific condition while deprecated hook versions are in use."""
    config, type_ = scope.config, ConditionType.HOOK_VERSIONS_UP_TO_DATE
    result = deprecations(config.status.handlers, scope.dependencies.caller.catalog)
    if not result:
        delete_condition(config, type_)
        return
    message = "\n".join(f"* {item}" for item in result)
    set_condition(config, false(type_, Reason.DEPRECATED_HOOK_VERSIONS, message), scope.now)
