"""The cert-manager settings: which version is installed, and how long to wait for it.

Upstream: `cmd/clusterctl/client/config/cert_manager_client.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from kapy.clusterctl.config.expansion import expand
from kapy.clusterctl.config.file import File, text_of
from kapy.clusterctl.errors import ConfigError
from kapy.kube import duration

DEFAULT_VERSION: Final = "v1.21.1"
DEFAULT_URL: Final = (
    f"https://github.com/cert-manager/cert-manager/releases/{DEFAULT_VERSION}/cert-manager.yaml"
)
DEFAULT_TIMEOUT: Final = timedelta(minutes=10)
_TRUE_WORDS: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE_WORDS: Final = ("0", "f", "F", "FALSE", "false", "False")


@dataclass(frozen=True, slots=True)
class CertManager:
    """The cert-manager to install. externally_provisioned: others install it; kapy tests it."""

    url: str = DEFAULT_URL
    version: str = DEFAULT_VERSION
    timeout: timedelta = DEFAULT_TIMEOUT
    externally_provisioned: bool = False


def cert_manager(file: File, environ: Mapping[str, str]) -> CertManager:
    """Return the `cert-manager` part of the file; an invalid timeout is replaced by the default.

    Raises ConfigError.
    """
    entry: Any = file.values.get("cert-manager") or {}
    if not isinstance(entry, Mapping):
        raise ConfigError(
            f"failed to unmarshal certManager from the clusterctl configuration file: "
            f"{file.source}: cert-manager must be a map with url, version, timeout or "
            "externallyProvisioned"
        )
    return CertManager(
        expand(text_of(entry.get("url")) or DEFAULT_URL, environ, "cert-manager.url"),
        text_of(entry.get("version")) or DEFAULT_VERSION,
        _timeout(text_of(entry.get("timeout"))),
        _parse_bool(text_of(entry.get("externallyprovisioned")) or "false", file.source),
    )


def _timeout(text: str) -> timedelta:
    try:
        return duration.parse(text) if text else DEFAULT_TIMEOUT
    except ValueError:
        return DEFAULT_TIMEOUT


def _parse_bool(text: str, source: str) -> bool:
    if text not in (*_TRUE_WORDS, *_FALSE_WORDS):
        raise ConfigError(
            f'{source}: cert-manager.externallyProvisioned is "{text}"; it must be true or false'
        )
    return text in _TRUE_WORDS
