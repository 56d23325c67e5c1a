"""The providers that a command requests, by type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kapy.clusterctl.errors import ConfigError
from kapy.clusterctl.inventory import Installed, default_name
from kapy.clusterctl.provider import ProviderType, Reference, manifest_label, parse_reference

NONE: Final = "-"
"""Used as the name of a bootstrap or control plane provider: do not install the usual one."""
_DEFAULT_PROVIDERS: Final = {
    ProviderType.CORE: "cluster-api",
    ProviderType.BOOTSTRAP: "kubeadm",
    ProviderType.CONTROL_PLANE: "kubeadm",
}


@dataclass(frozen=True)
class RequestedProviders:
    """The providers that a user wants to install. names: names such as `aws` or `aws:v2.11.0`, by
    type. target_namespace: the namespace for all providers. namespaces: the namespaces of single
    providers, by label.
    """

    names: Mapping[ProviderType, Sequence[str]] = field(default_factory=dict)
    target_namespace: str = ""
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def with_defaults(self, installed: Sequence[Installed]) -> RequestedProviders:
        """Add the usual providers if no core provider is installed yet."""
        if default_name(installed, ProviderType.CORE):
            return self
        usual = {
            of_type: (name,) for of_type, name in _DEFAULT_PROVIDERS.items() if not self.of(of_type)
        }
        return replace(self, names={**self.names, **usual})

    def namespace_of(self, name: str, of_type: ProviderType) -> str:
        """Return the requested namespace of a provider, "" for the one in its components."""
        return self.namespaces.get(manifest_label(name, of_type), self.target_namespace)

    def of(self, of_type: ProviderType) -> list[str]:
        """Return the requested providers of one type."""
        return [item for item in self.names.get(of_type, ()) if item]

    def references(self) -> Iterator[tuple[ProviderType, str, Reference]]:
        """Yield each requested provider: its type, the original text, and the parsed reference.

        Raises ConfigError.
        """
        for of_type in ProviderType:
            for text in self.of(of_type):
                if text == NONE and of_type is ProviderType.CORE:
                    raise ConfigError("the '-' value can not be used for the core provider")
                if text != NONE:
                    yield of_type, text, parse_reference(text)
