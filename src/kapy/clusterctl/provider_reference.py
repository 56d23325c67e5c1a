"""Provider references of flags: `aws`, or `aws:v2.11.0`."""

from __future__ import annotations

from typing import NamedTuple

from kapy.clusterctl.errors import ConfigError
from kapy.kube.qualified_names import dns_label_errors


class Reference(NamedTuple):
    """A provider's name, and its version or ""."""

    name: str
    version: str = ""


def parse_reference(text: str) -> Reference:
    """Parse a provider reference. Raises ConfigError (upstream: `parseProviderName`)."""
    form = f'invalid provider name "{text}". Provider name should be in the form name[:version]'
    name_part, colon, version = text.partition(":")
    if ":" in version:
        raise ConfigError(form)
    if not name_part:
        raise ConfigError(f"{form} and name cannot be empty")
    name = name_part.lower()
    if errors := dns_label_errors(name):
        raise ConfigError(f"{form} and the name should be valid: {'; '.join(errors)}")
    if colon and not version:
        raise ConfigError(f"{form} and version cannot be empty")
    return Reference(name, version)
