"""Which handlers of which extensions there are, by name and by hook.

The registry follows the ExtensionConfigs that a program watches: what their status says was
discovered is what is called. So it is complete before the first controller works, a restart
forgets nothing, and who takes an ExtensionConfig away takes its handlers away at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kapy.api.extension_config import ClientConfig, ExtensionConfig, ExtensionHandler
from kapy.api.names import ConditionType
from kapy.api.validation.extension_config import longest_timeout
from kapy.conditions.lookup import get
from kapy.engine.cache import Change
from kapy.hooks.errors import HookError
from kapy.hooks.messages.discovery import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.names import split_api_version
from kapy.kube.selectors import LabelSelector, selector_of


class NotRegistered(HookError):
    """There is no such handler."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One handler.

    name: `<handler>.<config>`. mark: changes whenever its ExtensionConfig is meant to be another.
    hook_version: group and version of the hook that it answers. seconds: how long it may take.
    ignored: a call that fails means that all goes on.
    """

    name: str
    config: str
    mark: str
    hook_version: str
    hook: str
    selector: LabelSelector
    client: ClientConfig
    seconds: int
    ignored: bool
    settings: Mapping[str, str]

    @property
    def handler(self) -> str:
        """The name that the extension itself gave it."""
        return self.name.removesuffix(f".{self.config}")

    @property
    def group(self) -> str:
        """The API group of its hook."""
        return split_api_version(self.hook_version)[0]


class Registry:
    """The handlers of all ExtensionConfigs. longest: seconds that no handler may exceed."""

    def __init__(self, *, longest: int = MAX_TIMEOUT_SECONDS) -> None:
        self._longest = longest
        self._by_config: dict[str, tuple[Registration, ...]] = {}
        self._by_name: dict[str, Registration] = {}

    def follow(self, change: Change) -> None:
        """Take in a change of an ExtensionConfig (a handler of its informer)."""
        document = change.new
        if document is None or document["metadata"].get("deletionTimestamp"):
            self._set(change.document["metadata"]["name"], ())
            return
        config = read(document, ExtensionConfig)
        found = self._registrations(config, document)
        # What was called goes on being called until discovery has seen what came after it; about
        # whom, and for how long, is the administrator's to say.
        if known := () if is_discovered(config) else self._by_config.get(config.metadata.name, ()):
            allowed = {one.name: one for one in found}
            found = tuple(_allowed(one, allowed.get(one.name, one)) for one in known)
        self._set(config.metadata.name, found)

    def _registrations(
        self, config: ExtensionConfig, document: Document
    ) -> tuple[Registration, ...]:
        selector = selector_of(document["spec"].get("namespaceSelector") or {})
        longest = self.longest_of(config)
        handlers = config.status.handlers
        return tuple(_registration(config, one, selector, longest) for one in handlers)

    def longest_of(self, config: ExtensionConfig) -> int:
        """Seconds that no call of an extension may exceed."""
        return min(self._longest, longest_timeout(config) or self._longest)

    def _set(self, config: str, registrations: tuple[Registration, ...]) -> None:
        for one in self._by_config.pop(config, ()):
            self._by_name.pop(one.name, None)
        if registrations:
            self._by_config[config] = registrations
            self._by_name |= {one.name: one for one in registrations}

    def named(self, name: str) -> Registration:
        """The handler of a name. Raises NotRegistered."""
        found = self._by_name.get(name)
        if found is None:
            raise NotRegistered(
                f'failed to get extension handler "{name}" from registry: handler with name '
                f'"{name}" has not been registered'
            )
        return found

    def reached(self, client: ClientConfig, handler: str) -> Registration | None:
        """Who is called by a client configuration, the very object, and the handler's own name."""
        for one in self._by_name.values():
            if one.client is client and one.handler == handler:
                return one
        return None

    def serving(self, group: str, hook: str) -> Sequence[Registration]:
        """The handlers of a hook in any version, by name."""
        found = [one for one in self._by_name.values() if one.hook == hook and one.group == group]
        return sorted(found, key=lambda one: one.name)


def _registration(
    config: ExtensionConfig, handler: ExtensionHandler, selector: LabelSelector, longest: int
) -> Registration:
    metadata = config.metadata
    return Registration(
        name=handler.name,
        config=metadata.name,
        mark=f"{metadata.uid}/{metadata.generation}",
        hook_version=handler.request_hook.api_version,
        hook=handler.request_hook.hook,
        selector=selector,
        client=config.spec.client_config,
        seconds=min(handler.timeout_seconds or DEFAULT_TIMEOUT_SECONDS, longest),
        ignored=handler.failure_policy == "Ignore",
        settings=config.spec.settings,
    )


def _allowed(known: Registration, now: Registration) -> Registration:
    return replace(known, selector=now.selector, seconds=now.seconds)


def is_discovered(config: ExtensionConfig) -> bool:
    """Whether discovery has seen an ExtensionConfig as it is meant to be now."""
    found = get(config.status.conditions, ConditionType.DISCOVERED)
    if found is None or found.status != "True":
        return False
    return found.observed_generation == config.metadata.generation
