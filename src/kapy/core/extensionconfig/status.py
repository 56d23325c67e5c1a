"""The status of an ExtensionConfig: handlers and conditions (pure functions)."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.extension_config import ExtensionConfig, ExtensionHandler, GroupVersionHook
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.change import delete_condition, set_condition
from kapy.conditions.lookup import false, true
from kapy.core.extensionconfig.scope import ConfigScope
from kapy.hooks.catalog import deprecations
from kapy.hooks.messages import discovery
from kapy.hooks.registry import registered_name


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
