"""The events of an engine, as they happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kapy.containers.responses import cooperate

if TYPE_CHECKING:
    from aiodocker import Docker

CONNECT_TIMEOUT: Final = 10.0


async def follow_events(
    library: Docker, filters: Mapping[str, Any], on_event: Callable[[Mapping[str, Any]], None]
) -> None:
    """Call `on_event` for each matching event until the engine ends the stream.

    The event stream of the library is not used: it buffers unread events without a limit.
    """
    from aiodocker.jsonstream import json_stream_stream
    from aiohttp import ClientTimeout

    async with library._query(
        "events",
        params={"filters": json.dumps(filters), "stream": True},
        timeout=ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
    ) as response:
        try:
            lines: Any = json_stream_stream(response, raise_on_error=False)
            async for event in cooperate(lines):
                on_event(event)
        finally:
            response.close()
