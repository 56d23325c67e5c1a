"""Renews credentials that expire, from files that others renew or from an exec plugin.

They are read again at their expiry, at regular intervals, and when the server refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.exec_plugin import Credential, run_plugin
from kapy.client.kubeconfig import Kubeconfig

FILE_REFRESH_SECONDS: Final = 60.0
"""Seconds before a credential file is read again, as in client-go: no event announces a new one."""
EARLY_SECONDS: Final = 10.0
"""Seconds before its expiry from which a plugin's credential is not used: requests take a while."""
MIN_RETRY_SECONDS: Final = 5.0
"""Seconds for which a credential is kept that the server refused right after it was read."""


class Renewal:
    """Keeps a client's credential fresh.

    Reading may take as long as a plugin runs: callers that must not block call `read` in a thread.
    clock: the time of day, for expiry. now: a monotonic time in seconds.
    """

    def __init__(
        self, access: Kubeconfig, clock: Clock, now: Callable[[], float] = monotonic
    ) -> None:
        self._access = access
        self._clock = clock
        self._now = now
        self._read_at: float | None = None
        self._due: float | None = None
        self.credential = static_credential(access)
        if access.exec is None:
            self._keep(self.credential)

    @property
    def is_due(self) -> bool:
        """Whether to read the credential again before the next request."""
        return self._read_at is None or (self._due is not None and self._now() >= self._due)

    @property
    def is_quick(self) -> bool:
        """Whether `read` only reads files, and runs no plugin."""
        return self._access.exec is None

    def may_read(self, refused: Credential) -> bool:
        """Return whether to read again after the server refused a credential.

        It is False if another credential was read meanwhile, or if the last read was just now.
        """
        if refused is not self.credential or self._read_at is None:
            return False
        return self._now() - self._read_at >= MIN_RETRY_SECONDS

    def read(self) -> Credential:
        """Read the credential again. Raises NoCredentials.

        While files are missing, their last content is used.
        """
        plugin = self._access.exec
        if plugin is not None:
            self._keep(run_plugin(plugin))
        else:
            self._keep(_read_files(self._access, self.credential))
        return self.credential

    def _keep(self, credential: Credential) -> None:
        if credential != self.credential:
            self.credential = credential
        self._read_at = self._now()
        if self._access.exec is None:
            self._due = self._read_at + FILE_REFRESH_SECONDS
        elif credential.expires is None:
            self._due = None
        else:
            seconds = (credential.expires - self._clock()).total_seconds() - EARLY_SECONDS
            self._due = self._read_at + max(seconds, 1.0)


def static_credential(access: Kubeconfig) -> Credential:
    """Return the credential that a kubeconfig itself contains."""
    return Credential(access.token, access.client_certificate, access.client_key)


def renewal(access: Kubeconfig, clock: Clock) -> Renewal | None:
    """Return the Renewal of a client's credential, None if the kubeconfig itself contains the
    credential.
    """
    renewed = access.exec or access.token_file or access.client_certificate_file
    return Renewal(access, clock) if renewed else None


def _read_files(access: Kubeconfig, before: Credential) -> Credential:
    def read(path: str, was: bytes) -> bytes:
        return _read_file(path) or was if path else was

    token = read(access.token_file, before.token.encode()).decode("utf-8", "replace").strip()
    certificate = read(access.client_certificate_file, before.certificate)
    return Credential(token, certificate, read(access.client_key_file, before.key))


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
