"""Which handlers answer a version of a hook that goes away, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.extension_config import ExtensionHandler
from kapy.hooks.catalog import Catalog


def deprecations(handlers: Iterable[ExtensionHandler], catalog: Catalog) -> list[str]:
    """A sentence for each handler of a deprecated version."""
    found = []
    for one in handlers:
        said = one.request_hook
        hook = catalog.get(said.api_version, said.hook)
        if hook is not None and hook.deprecation is not None:
            going = hook.deprecation
            found.append(
                f"handler {one.name} answers {said.hook} of {said.api_version}, which is "
                f"deprecated since {going.since}: use {going.replacement} instead; "
                f"{going.last_release} is the last release that calls it"
            )
    return found
