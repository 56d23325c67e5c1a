"""The head of a request that may be handled at once, without a task and without ASGI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from kapy.kube.http import User

_PLAIN: Final = frozenset((b"", b"application/json", b"application/json, */*", b"*/*"))
"""Values of `Accept` for which the response is JSON, and the object itself."""
_KNOWN: Final = frozenset(
    (b"host", b"user-agent", b"accept", b"accept-encoding", b"authorization", b"connection")
)
"""Headers that do not change the response, or that are looked at here. A request with any other
header takes the usual way.
"""


class ImmediateRequest(Struct):
    """A GET request without query, body and unusual headers, which may be handled at once.
    introduce: records the user of the connection, and returns False if the limit for users is
    reached.
    """

    path: str
    authorization: str
    peer: User | None
    introduce: Callable[[User], bool]


class ImmediateReader(Protocol):
    """An application that can handle an ImmediateRequest at once."""

    def read_at_once(self, head: ImmediateRequest) -> tuple[str, bytes] | None:
        """Return the audit id and the body of the response, None if the request is to be handled by
        ASGI.
        """


def immediate_request(
    url: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    peer: User | None,
    introduce: Callable[[User], bool],
) -> ImmediateRequest | None:
    """Return a GET as an ImmediateRequest, None if the request is to be handled by ASGI."""
    if not url.startswith(b"/api") or b"?" in url or b"%" in url or b"#" in url:
        return None
    values: Mapping[bytes, bytes] = dict(headers)
    if len(values) != len(headers) or not values.keys() <= _KNOWN:
        return None
    if values.get(b"accept", b"") not in _PLAIN:
        return None
    if values.get(b"connection", b"keep-alive") != b"keep-alive" or not url.isascii():
        return None
    authorization = values.get(b"authorization", b"").decode("latin-1")
    return ImmediateRequest(url.decode("ascii"), authorization, peer, introduce)
