"""The registered handlers of all extensions, by name and by hook.

The registry follows the watched ExtensionConfigs: handlers in their status are called. So it is
complete before the first controller starts, a restart forgets nothing, and deleting an
ExtensionConfig removes its handlers at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kapy.api.extension_config import ClientConfig, ExtensionConfig, ExtensionHandler
from kapy.api.names import ConditionType
from kapy.api.validation.extension_config import longest_timeout
from kapy.conditions.lookup import get
from kapy.engine.cache import Change
from kapy.hooks.errors import BadAddress, HookError
from kapy.hooks.messages.discovery import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS
from kapy.kube import Document
from kapy.kube.meta import read
from kapy.kube.names import split_api_version
from kapy.kube.selectors import LabelSelector, selector_of


class NotRegistered(HookError):
    """There is no such handler."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One registered handler of an extension.

    name: `<handler>.<config>`. revision: a text that changes with the spec of its ExtensionConfig.
    hook_version: group and version of its hook. seconds: its timeout. ignores_failure: whether a
    failed call is ignored.
    """

    name: str
    config: str
    revision: str
    hook_version: str
    hook: str
    selector: LabelSelector
    client: ClientConfig
    seconds: int
    ignores_failure: bool
    settings: Mapping[str, str]

    @property
    def handler(self) -> str:
        """The handler's own name within its extension."""
        return self.name.removesuffix(f".{self.config}")

    @property
    def group(self) -> str:
        """The API group of its hook."""
        return split_api_version(self.hook_version)[0]


class Registry:
    """The handlers of all ExtensionConfigs. longest: the upper limit of timeouts in seconds."""

    def __init__(self, *, longest: int = MAX_TIMEOUT_SECONDS) -> None:
        self._longest = longest
        self._by_config: dict[str, tuple[Registration, ...]] = {}
        self._by_name: dict[str, Registration] = {}

    def observe(self, change: Change) -> None:
        """Handle a change of an ExtensionConfig (subscribed to its informer)."""
        document = change.new
        if document is None or document["metadata"].get("deletionTimestamp"):
            self._replace(change.document["metadata"]["name"], ())
            return
        config = read(document, ExtensionConfig)
        registrations = self._registrations(config, document)
        # Known handlers stay until discovery has read the changed ExtensionConfig; its namespace
        # selector and timeouts apply at once.
        if former := () if is_discovered(config) else self._by_config.get(config.metadata.name, ()):
            allowed = {registration.name: registration for registration in registrations}
            registrations = tuple(
                _bounded_selector(registration, allowed.get(registration.name, registration))
                for registration in former
            )
        self._replace(config.metadata.name, registrations)

    def _registrations(
        self, config: ExtensionConfig, document: Document
    ) -> tuple[Registration, ...]:
        selector = selector_of(document["spec"].get("namespaceSelector") or {})
        longest = self.longest_of(config)
        handlers = config.status.handlers
        return tuple(_registration(config, handler, selector, longest) for handler in handlers)

    def longest_of(self, config: ExtensionConfig) -> int:
        """Return the upper limit of timeouts for an extension, in seconds."""
        return min(self._longest, longest_timeout(config) or self._longest)

    def _replace(self, config: str, registrations: tuple[Registration, ...]) -> None:
        for registration in self._by_config.pop(config, ()):
            self._by_name.pop(registration.name, None)
        if registrations:
            self._by_config[config] = registrations
            self._by_name |= {item.name: item for item in registrations}

    def get(self, name: str) -> Registration:
        """Return the handler with a name. Raises NotRegistered."""
        registration = self._by_name.get(name)
        if registration is None:
            raise NotRegistered(
                f'failed to get extension handler "{name}" from registry: handler with name '
                f'"{name}" has not been registered'
            )
        return registration

    def registration_of(self, client: ClientConfig, handler: str) -> Registration | None:
        """Return the handler by the identity of its client configuration and its own name."""
        for registration in self._by_name.values():
            if registration.client is client and registration.handler == handler:
                return registration
        return None

    def handlers_of(self, group: str, hook: str) -> Sequence[Registration]:
        """Return the handlers of a hook in any version, by name."""
        name = [
            registration
            for registration in self._by_name.values()
            if registration.hook == hook and registration.group == group
        ]
        return sorted(name, key=lambda registration: registration.name)


def _registration(
    config: ExtensionConfig, handler: ExtensionHandler, selector: LabelSelector, longest: int
) -> Registration:
    metadata = config.metadata
    return Registration(
        name=handler.name,
        config=metadata.name,
        revision=f"{metadata.uid}/{metadata.generation}",
        hook_version=handler.request_hook.api_version,
        hook=handler.request_hook.hook,
        selector=selector,
        client=config.spec.client_config,
        seconds=min(handler.timeout_seconds or DEFAULT_TIMEOUT_SECONDS, longest),
        ignores_failure=handler.failure_policy == "Ignore",
        settings=config.spec.settings,
    )


def _bounded_selector(former: Registration, now: Registration) -> Registration:
    return replace(former, selector=now.selector, seconds=now.seconds)


def is_discovered(config: ExtensionConfig) -> bool:
    """Return whether discovery has run for the current spec of an ExtensionConfig."""
    condition = get(config.status.conditions, ConditionType.DISCOVERED)
    if condition is None or condition.status != "True":
        return False
    return condition.observed_generation == config.metadata.generation


def registered_name(handler: str, extension: str) -> str:
    """Return the name of a handler in the registry, in ClusterClasses and in status."""
    return f"{handler}.{extension}"


def extension_of(name: str) -> str:
    """Return the ExtensionConfig of a registered name. Raises BadAddress if the name is invalid."""
    parts = name.split(".")
    if len(parts) != 2:
        raise BadAddress(
            f"registered handler name {name} was not in the expected format "
            "(`HANDLER_NAME.EXTENSION_NAME)"
        )
    return parts[1]
