"""The configuration of an API process, which its plane sends."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from kapy._aio.cores import usable_cores
from kapy.apiserver.request.limits.max_in_flight import Limits
from kapy.apiserver.server import Server
from kapy.apiserver.serving.connection_limit import process_limit
from kapy.apps.credentials import Credentials
from kapy.apps.settings import ApiProcessCount, Serving, Settings
from kapy.kube.http import User

CONFIGURATION: Final = "configuration"
"""The target in the plane that has the configuration."""
REPLICATE: Final = "replicate"
LISTENING: Final = "listening"
AUDITED: Final = "audited"
"""Notices of the process: it takes the content of the store; it accepts connections, and its
process id; a line of the audit log."""
SHUTDOWN: Final = "shutdown"
STOP: Final = "stop"
"""Notices of the plane: the shutdown begins; stop after the requests in flight."""

AUTO_MOST: Final = 4
"""Processes that `auto` starts at most."""


class ApiProcessConfig(msgspec.Struct, kw_only=True):
    """The configuration of one process that serves the API server of a plane.

    certificate, key, client_ca: the server certificate, its private key, and the CA of client
    certificates. tokens: users by bearer token. token_key: the key that verifies the tokens of
    service accounts. reading: the maximum number of concurrent reads. connections: the maximum
    number of open connections. is_audited, audit_policy: whether there is an audit log, and its
    policy, b"" for all requests. log_level: the lowest level of the messages that the plane logs.
    forwarded_groups, forwarded_users: the API groups and the users whose requests are forwarded to
    the plane.
    """

    name: str
    certificate: bytes
    key: bytes
    client_ca: bytes
    tokens: dict[str, User]
    token_key: bytes
    reading: int
    connections: int
    is_audited: bool
    audit_policy: bytes
    log_level: int
    forwarded_groups: list[str]
    forwarded_users: list[str]


def share(limit: int, processes: int) -> int:
    """Return the part of a limit that each of some processes has; 0 is no limit."""
    return -(-limit // processes)


def process_count(processes: ApiProcessCount) -> int:
    """Return how many API processes a plane has; 0 if it serves by itself."""
    return min(usable_cores(), AUTO_MOST) if processes == "auto" else processes


def configurations_of(
    server: Server,
    settings: Settings,
    serving: Serving,
    credentials: Credentials,
    users: Sequence[str],
) -> list[ApiProcessConfig]:
    """Return the configurations of the API processes of a plane. users: the users whose rights only
    the plane knows. Raises UnusableKey, OSError.
    """
    number = process_count(settings.api_processes)
    audit = settings.audit
    policy = b"" if audit is None or audit.policy is None else audit.policy.read_bytes()
    groups = {kind.RESOURCE.group for item in settings.providers for kind in item.kinds}
    return [
        ApiProcessConfig(
            name=f"api-{place}",
            certificate=credentials.server.certificate,
            key=credentials.server.key,
            client_ca=credentials.authority.certificate,
            tokens=dict(serving.tokens),
            token_key=server.access.tokens.public_key(),
            reading=share((settings.limits or Limits()).reading, number),
            connections=share(process_limit().limit, number),
            is_audited=audit is not None,
            audit_policy=policy,
            log_level=logging.getLogger().getEffectiveLevel(),
            forwarded_groups=sorted(groups),
            forwarded_users=list(users),
        )
        for place in range(1, number + 1)
    ]


def encode(config: ApiProcessConfig) -> bytes:
    """Encode a configuration for `decode`."""
    return msgspec.json.encode(config)


decode: Final = msgspec.json.Decoder(ApiProcessConfig).decode
