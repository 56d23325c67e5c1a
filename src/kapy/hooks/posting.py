"""The way to an extension: one POST, and what came of it.

`Post` is the seam: `kapy.hooks.https` goes over the network, tests and stories put an extension in
process behind it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from kapy.api.extension_config import ClientConfig
from kapy.kube.errors import KapyError

LARGEST_ANSWER: Final = 8 << 20
"""Bytes; far above any answer that means something, so a larger one is an attack or a mistake."""


class NoAnswer(KapyError):
    """No answer came that could be read to its end."""


class Answer(NamedTuple):
    """What an extension answered: HTTP's status code and the body."""

    code: int
    body: bytes


class Post(Protocol):
    """Sends requests to extensions. Whoever calls it sees to the time that it may take."""

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        """The answer to a POST. Raises NoAnswer."""

    async def aclose(self) -> None:
        """Close all connections."""
