"""The workloads whose instructions are counted.

`python -m tests.instructions.workloads NAME TIMES` plays them. `story` creates a cluster on virtual
time and deletes it, TIMES in one plane. `reference` is fixed work of Python alone, which no change
of kapy affects: it is the unit of the story's count.
"""

from __future__ import annotations

import asyncio
import json
import sys
from random import Random
from typing import Final

STORY: Final = "story"
REFERENCE: Final = "reference"
_QUIET: Final = 20.0
"""Virtual seconds after each step, so that statuses that wait are written."""

_ROWS: Final = 400


def play(times: int) -> None:
    """Create the small cluster of the recorded costs and delete it, several times in one plane."""
    from kapy._aio.clock import loop_clock
    from kapy.apps.all_in_one import management_plane
    from kapy.apps.settings import Settings
    from kapy.testing.story import Story
    from kapy.testing.virtual_time import VirtualTimeLoop
    from tests.stories import costs
    from tests.stories.plane import own_kinds

    async def run() -> None:
        async with management_plane(Settings(), clock=loop_clock(), random=Random(0)) as plane:
            story = Story(plane.client, own_kinds())
            for _ in range(times):
                await costs.create_cluster(story)
                await asyncio.sleep(_QUIET)
                await costs.delete_cluster(story)
                await asyncio.sleep(_QUIET)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(run())


def calculate(times: int) -> None:
    """Do what controllers do most: dicts, strings, JSON, sorted lists, calls and generators."""
    for _ in range(times):
        documents = [
            {"metadata": {"name": f"machine-{row}", "labels": {"row": str(row % 7)}}, "n": row}
            for row in range(_ROWS)
        ]
        copies = json.loads(json.dumps(documents))
        by_label: dict[str, list[int]] = {}
        for copy in sorted(copies, key=_name):
            by_label.setdefault(copy["metadata"]["labels"]["row"], []).append(copy["n"])
        assert sum(sum(numbers) for numbers in by_label.values()) == sum(range(_ROWS))


def _name(document: dict[str, dict[str, str]]) -> str:
    return document["metadata"]["name"]


if __name__ == "__main__":
    {STORY: play, REFERENCE: calculate}[sys.argv[1]](int(sys.argv[2]))
