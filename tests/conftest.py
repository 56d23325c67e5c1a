"""Every async test runs on virtual time, unless it is marked `sockets`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from kapy.testing.virtual_time import VirtualTimeLoop
from tests.absent import not_run


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], Any]]:
    if item.get_closest_marker("sockets"):
        return {"real-time": asyncio.SelectorEventLoop}
    return {"virtual-time": VirtualTimeLoop}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """What takes minutes begins first: a program in Go is built, and nobody waits for it."""
    items.sort(key=lambda item: "tests/foreign/test_manager" not in item.nodeid)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in not_run():
        terminalreporter.write_line(line)
