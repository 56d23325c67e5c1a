"""The transport to an extension: one POST, and its answer.

`HookTransport` is the interface: `kapy.hooks.https` implements it over the network, tests and
stories call an extension in process.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from kapy.api.extension_config import ClientConfig
from kapy.kube.errors import KapyError

LARGEST_ANSWER: Final = 8 << 20
"""Bytes; far above any answer that means something, so a larger one is an attack or a mistake."""


class NoAnswer(KapyError):
    """No complete answer was received."""


class Answer(NamedTuple):
    """The answer of an extension: HTTP status code and body."""

    code: int
    body: bytes


class HookTransport(Protocol):
    """Sends requests to extensions. The caller enforces the timeout."""

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        """Send a POST and return the answer. Raises NoAnswer."""

    async def aclose(self) -> None:
        """Close all connections."""
