"""Topic `traces`: recorded stories, played on a plane of ours on virtual time.

Compared are the objects of the namespace at each stable point (README of the topic, `objects`).
A story that was recorded with an extension needs topic `extension` beside the folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from kapy.testing.virtual_time import VirtualTimeLoop
from tests.oracle.topic import Result
from tests.stories.playing import endings_of
from tests.stories.playing_extensions import played
from tests.stories.recorded import Recorded
from tests.stories.recorded_calls import Session, sessions_in


def play(folder: Path) -> Iterator[Result]:
    """Every story: a result for each of its stages."""
    names = sorted(path.parent.name for path in folder.glob("*/story.yaml"))
    if not names:
        yield Result(str(folder), ("there is no story.yaml in a folder below this one",))
    calls = folder.parent / "extension"
    extended = sessions_in(calls) if (calls / "calls.jsonl.gz").is_file() else []
    for name in names:
        session = Session(name, calls) if name in extended else None
        yield from _results(name, folder, session)


def _results(name: str, folder: Path, session: Session | None) -> Iterator[Result]:
    try:
        endings = run(Recorded.read(name, folder), session)
    except Exception as error:
        # One story that breaks must not hide the others.
        yield Result(name, (f"raised {type(error).__name__}: {error}",))
        return
    for stage, lines in endings.items():
        yield Result(f"{name}/{stage}", tuple(lines))


def run(recorded: Recorded, session: Session | None) -> dict[str, list[str]]:
    """Play one story; by stage, what is not as it was recorded."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        if session is None:
            return runner.run(endings_of(recorded))
        return runner.run(played(recorded, session)).endings
