"""The events of an engine, as they happen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiodocker import Docker


async def follow_events(
    library: Docker, filters: Mapping[str, Any], told: Callable[[Mapping[str, Any]], None]
) -> None:
    """Tell of each event that passes the filters, until the engine ends the answer."""
    from aiodocker.events import DockerEvents

    events: Any = DockerEvents(library)  # type: ignore[no-untyped-call]
    subscriber = events.subscribe(create_task=False)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(events.run(filters=json.dumps(filters)))
            while (event := await subscriber.get()) is not None:
                told(event)
    except ExceptionGroup as several:  # of one: the request failed
        raise several.exceptions[0] from None
