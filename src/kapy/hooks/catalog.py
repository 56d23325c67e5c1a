"""The known hooks in all versions, the deprecated ones, and the conversion of messages between
versions.

    catalog = own_catalog()                               # every hook of kapy.hooks.messages
    hook = catalog.get("hooks.runtime.cluster.x-k8s.io/v1alpha1", "BeforeClusterCreate")
    older = catalog.request_for(hook, request, newest)    # for an extension that knows only `hook`

Add other hooks by `own_catalog().add(MY_HOOK)`, or name their module as an entry point of the group
`kapy.hooks`, so that every program in the same environment knows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final

from kapy.api.extension_config import ExtensionHandler
from kapy.hooks import messages
from kapy.hooks.hook import GROUP, AnyHook, Hook
from kapy.hooks.messages.message import Request, Response
from kapy.kube.digits import parse_integer
from kapy.kube.errors import KapyError

ENTRY_POINTS: Final = "kapy.hooks"
_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_TRACKS: Final = {"alpha": 0, "beta": 1, None: 2}


class Catalog:
    """Hooks by group, version and name."""

    def __init__(self, hooks: Iterable[AnyHook] = ()) -> None:
        self._hooks: dict[tuple[str, str], AnyHook] = {}
        for hook in hooks:
            self.add(hook)

    def __iter__(self) -> Iterator[AnyHook]:
        """Iterate over all hooks by name, the oldest version of each first."""
        return iter(sorted(self._hooks.values(), key=lambda hook: (hook.group_hook, _age(hook))))

    def add(self, hook: AnyHook) -> AnyHook:
        """Register a hook in one version. Raises ValueError if it exists or has no version."""
        if not _VERSION.fullmatch(hook.version):
            raise ValueError(f'{hook.name}: "{hook.version}" is no version such as v1alpha1')
        key = (hook.api_version, hook.name)
        if key in self._hooks:
            raise ValueError(f"{hook.name} of {hook.api_version} is already in the catalog")
        self._hooks[key] = hook
        return hook

    def get(self, api_version: str, name: str) -> AnyHook | None:
        """Return a hook in a version; None if there is none."""
        return self._hooks.get((api_version, name))

    def versions(self, group_hook: str) -> list[AnyHook]:
        """Return the versions of a hook, the oldest first."""
        return [hook for hook in self if hook.group_hook == group_hook]

    def newest(self, hook: AnyHook) -> AnyHook:
        """Return the newest version of a hook, which kapy itself uses."""
        return self.versions(hook.group_hook)[-1]

    def request_for(self, hook: AnyHook, request: Request, newest: AnyHook) -> Request:
        """Convert a request from the newest version to an older one."""
        for item in self._way(newest, hook):
            request = item.conversion.request_down(request)  # type: ignore[union-attr]
        return request

    def response_of(self, hook: AnyHook, response: Response, newest: AnyHook) -> Response:
        """Convert a response from an older version to the newest one."""
        for item in reversed(self._way(newest, hook)):
            response = item.conversion.response_up(response)  # type: ignore[union-attr]
        return response

    def _way(self, newest: AnyHook, hook: AnyHook) -> list[AnyHook]:
        """Return the versions between two, each with a conversion to the previous one."""
        way: list[AnyHook] = []
        at = newest
        while at.version != hook.version:
            if at.conversion is None:
                raise ValueError(f"nothing converts {newest} to {hook}")
            way.append(at)
            at = at.conversion.older
        return way


class BadHooks(KapyError):
    """An installed package defines invalid hooks."""


@cache
def _own_hooks() -> tuple[AnyHook, ...]:
    result: dict[int, AnyHook] = {}
    for module in iter_modules(messages.__path__, f"{messages.__name__}."):
        result |= {id(hook): hook for hook in _hooks_in(import_module(module.name))}
    return tuple(result.values())


def own_catalog() -> Catalog:
    """Return a catalog of all hooks of kapy."""
    return Catalog(_own_hooks())


@cache
def _installed_hooks() -> tuple[AnyHook, ...]:
    catalog = own_catalog()
    for point in entry_points(group=ENTRY_POINTS):
        try:
            for hook in dict.fromkeys(_hooks_in(point.load())):
                _add_own(catalog, hook)
        except (ImportError, AttributeError, ValueError) as error:
            raise BadHooks(f"the hooks of {point.value} cannot be used: {error}") from None
    return tuple(catalog)


def full_catalog() -> Catalog:
    """Return a catalog of all hooks of kapy and of installed packages. Raises BadHooks."""
    return Catalog(_installed_hooks())


def _add_own(catalog: Catalog, hook: AnyHook) -> None:
    if hook.group == GROUP:
        if catalog.get(hook.api_version, hook.name) is hook:
            return  # imported as a base for other messages
        raise ValueError(f"{hook.name} has to be of a group of its own; {GROUP} is Cluster API's")
    catalog.add(hook)


def _hooks_in(module: ModuleType) -> list[AnyHook]:
    return [value for value in vars(module).values() if isinstance(value, Hook)]


def stability(version: str) -> int:
    """Return the stability of a version: 0 alpha, 1 beta, 2 stable."""
    return _parse_version(version)[0]


def _age(hook: AnyHook) -> tuple[int, int, int]:
    return _parse_version(hook.version)


def _parse_version(version: str) -> tuple[int, int, int]:
    match: Any = _VERSION.fullmatch(version)
    return _TRACKS[match[2]], parse_integer(match[1]), parse_integer(match[3] or "0")


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
