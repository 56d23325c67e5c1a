"""Programs side by side, each for the objects with its label; one hands over by relabelling."""

from __future__ import annotations

import asyncio

from kapy._aio.clock import loop_clock
from kapy.api.names import Label
from kapy.engine.controller import Controller
from kapy.engine.options import ManagerOptions
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from tests.engine.fake_server import WIDGETS, FakeServer, widget


def program(server: FakeServer, watch_filter: str) -> tuple[Runtime, list[str]]:
    """One that notes what it looks at."""
    looked: list[str] = []

    async def look(key: Key) -> Result:
        looked.append(key.name)
        return DONE

    options = ManagerOptions(watch_filter=watch_filter)
    runtime = Runtime.on(server, clock=loop_clock(), options=options)
    widgets = runtime.cache.informer(WIDGETS)
    controller = Controller("widgets", look)
    controller.watch(widgets)
    runtime.add(controller, widgets)
    return runtime, looked


async def test_watch_filters_select_objects_by_label() -> None:
    server = FakeServer()
    for name, colour in (("a", "blue"), ("b", "green"), ("c", "")):
        document = widget(name)
        document["metadata"]["labels"] = {Label.WATCH_FILTER: colour} if colour else {}
        server.put(document)
    (blue, to_blue), (green, to_green) = program(server, "blue"), program(server, "green")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runtime.run()) for runtime in (blue, green)]
        await asyncio.sleep(5)
        assert (to_blue, to_green) == (["a"], ["b"])
        document = widget("a")
        document["metadata"]["labels"] = {Label.WATCH_FILTER: "green"}
        server.put(document)
        await asyncio.sleep(5)
        assert (to_blue, to_green) == (["a"], ["b", "a"])
        for task in tasks:
            task.cancel()
