"""The public test kit: management planes on virtual time, user actions, and injected faults. Only
tests import it.

    from kapy.testing import on_virtual_time, plane

    @on_virtual_time
    async def test_a_cluster_comes_up() -> None:
        async with plane() as there:
            ...

The pytest plugin has the fixture `kapy_plane` (`kapy.testing.pytest_plugin`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kapy.testing.planes import (
        BackgroundPlane,
        BadTestPlane,
        RunningPlane,
        background_plane,
        on_virtual_time,
        plane,
    )

__all__ = [
    "BackgroundPlane",
    "BadTestPlane",
    "RunningPlane",
    "background_plane",
    "on_virtual_time",
    "plane",
]


def __getattr__(name: str) -> Any:
    """Import the planes at the first use, because they import all of kapy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kapy.testing.planes"), name)
