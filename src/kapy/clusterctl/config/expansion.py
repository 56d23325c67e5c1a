"""Expands environment variables such as `${HOME}` in paths and URLs of the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.clusterctl.errors import ClusterctlError, ConfigError


def expand(text: str, environ: Mapping[str, str], setting: str) -> str:
    """Return the text with environment variables expanded; unset ones are empty.

    setting: the setting, for errors. Raises ConfigError.
    """
    if "$" not in text:
        return text
    from kapy.clusterctl.envsubst import parse, substitute

    try:
        return substitute(parse(text), environ)
    except ClusterctlError as error:
        raise ConfigError(f'unable to evaluate {setting}: "{text}": {error}') from error
