"""Parses the providers and versions of `upgrade apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapy.clusterctl.errors import ConfigError
from kapy.clusterctl.inventory import Installed, find_installed
from kapy.clusterctl.provider import ProviderType, manifest_label
from kapy.clusterctl.provider_reference import parse_reference


def wanted_versions(
    names: Mapping[ProviderType, Sequence[str]], installed: Sequence[Installed]
) -> dict[str, str]:
    """The requested version by instance (`capa-system/infrastructure-aws`).

    Raises ConfigError.
    """
    versions = {}
    for of_type in ProviderType:
        for text in names.get(of_type, ()):
            if text:
                instance, version = _wanted_version(text, of_type, installed)
                versions[instance] = version
    return versions


def _wanted_version(
    text: str, of_type: ProviderType, installed: Sequence[Installed]
) -> tuple[str, str]:
    form = (
        f'invalid provider name "{text}". Provider name should be in the form '
        "namespace/provider:version or provider:version"
    )
    namespace, slash, rest = text.lower().rpartition("/")
    if (slash and (not namespace or "/" in namespace)) or (not slash and ":" not in rest):
        raise ConfigError(form)
    name, version = parse_reference(rest if slash else text)
    if not version:
        raise ConfigError(f"{form} and version cannot be empty")
    if not slash:
        namespace = _namespace(find_installed(installed, name, of_type))
    return f"{namespace}/{manifest_label(name, of_type)}", version


def _namespace(instances: Sequence[Installed]) -> str:
    """The namespace of a provider, "" if it is ambiguous or unknown."""
    namespaces = {provider.namespace for provider in instances}
    return namespaces.pop() if len(namespaces) == 1 else ""
