"""Expands environment variables such as `${HOME}` in paths and URLs of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.clusterctl.errors import ClusterctlError, ConfigError


def expanded(text: str, environ: Mapping[str, str], what: str) -> str:
    """The text with environment variables expanded; unset ones are empty.

    what: the setting, for errors. Raises ConfigError.
    """
    if "$" not in text:
        return text
    from kapy.clusterctl.envsubst import parsed, substituted

    try:
        return substituted(parsed(text), environ)
    except ClusterctlError as error:
        raise ConfigError(f'unable to evaluate {what}: "{text}": {error}') from error
