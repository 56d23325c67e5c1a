"""Validate and default the handlers that an extension reports.

The messages are upstream's: the ExtensionConfig's condition shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from kapy.hooks.catalog import Catalog
from kapy.hooks.errors import BadDiscovery
from kapy.hooks.messages.discovery import (
    DEFAULT_TIMEOUT_SECONDS,
    FAIL,
    IGNORE,
    MAX_TIMEOUT_SECONDS,
    MOST_HANDLERS,
    ExtensionHandler,
)
from kapy.kube.field_errors import aggregate
from kapy.kube.qualified_names import dns_label_errors


def validate_handlers(
    handlers: Iterable[ExtensionHandler], catalog: Catalog
) -> list[ExtensionHandler]:
    """Return the handlers of an extension with defaults. Raises BadDiscovery with all errors."""
    complete = [with_defaults(handler) for handler in handlers]
    if errors := list(dict.fromkeys(_errors(complete, catalog))):
        raise BadDiscovery(f"failed to validate discovery response: {aggregate(errors)}")
    return complete


def with_defaults(handler: ExtensionHandler) -> ExtensionHandler:
    """Return a handler with default values for missing fields."""
    timeout, policy = handler.timeout_seconds, handler.failure_policy
    return replace(
        handler,
        timeout_seconds=DEFAULT_TIMEOUT_SECONDS if timeout is None else timeout,
        failure_policy=FAIL if policy is None else policy,
    )


def _errors(handlers: Sequence[ExtensionHandler], catalog: Catalog) -> Iterator[str]:
    if len(handlers) > MOST_HANDLERS:
        yield f"there are {len(handlers)} handlers, and an extension can have {MOST_HANDLERS}"
    names: set[str] = set()
    for handler in handlers:
        if handler.name in names:
            yield f"duplicate name for handler {handler.name} found"
        names.add(handler.name)
        yield from _handler_errors(handler)
        yield from _hook_errors(handler, catalog)


def _handler_errors(entry: ExtensionHandler) -> Iterator[str]:
    if wrong := dns_label_errors(entry.name):
        # Newer API servers count bytes; the library of upstream says "characters".
        sentences = " ".join(wrong).replace("63 bytes", "63 characters")
        yield f"handler name {entry.name} is not valid: [{sentences}]"
    if not 0 <= (entry.timeout_seconds or 0) <= MAX_TIMEOUT_SECONDS:
        yield (
            f"handler {entry.name} timeoutSeconds {entry.timeout_seconds} must be between 0 and "
            f"{MAX_TIMEOUT_SECONDS}"
        )
    if entry.failure_policy not in (FAIL, IGNORE):
        yield (
            f'handler {entry.name} failurePolicy {entry.failure_policy} must equal "{IGNORE}" or '
            f'"{FAIL}"'
        )


def _hook_errors(entry: ExtensionHandler, catalog: Catalog) -> Iterator[str]:
    version, hook = entry.request_hook.api_version, entry.request_hook.hook
    if version.count("/") > 1:
        yield (
            f"handler {entry.name} requestHook APIVersion {version} is not valid: unexpected "
            f"GroupVersion string: {version}"
        )
    elif catalog.get(version, hook) is None:
        yield f"handler {entry.name} requestHook {version}/{hook} is not in the Runtime SDK catalog"
