"""Find handlers of deprecated hook versions, and describe what to do."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.extension_config import ExtensionHandler
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import AnyHook


def deprecations(handlers: Iterable[ExtensionHandler], catalog: Catalog) -> list[str]:
    """Return a sentence for each handler of a deprecated version."""
    result = []
    for handler in handlers:
        version_hook = handler.request_hook
        hook = catalog.get(version_hook.api_version, version_hook.hook)
        if hook is not None and hook.deprecation is not None:
            going = hook.deprecation
            result.append(
                f"handler {handler.name} answers {version_hook.hook} of "
                f"{version_hook.api_version}, which is deprecated since {going.since}: "
                f"use {going.replacement} instead; {going.last_release} is the last release that "
                "calls it"
            )
    return result


def is_over(hook: AnyHook, release: str) -> bool:
    """Return whether a release comes after the last one that calls a version of a hook."""
    going = hook.deprecation
    return going is not None and minor_of(release) > minor_of(going.last_release)


def minor_of(release: str) -> tuple[int, int]:
    """Return a release's major and minor version."""
    major, minor, *_ = release.removeprefix("v").split(".")
    return int(major), int(minor)
