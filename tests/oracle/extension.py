"""Topic `extension`: what an extension is asked, and what an ExtensionConfig says of Discovery.

Each session is played as the story of the same name in topic `traces`, which has to be beside the
folder. Compared are the order of the hooks and the requests (README of the topic).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from kapy.testing.virtual_time import VirtualTimeLoop
from tests.core.extensionconfig.test_recorded_discovery import discovery_endings
from tests.oracle.topic import Result, compared
from tests.stories.playing_extensions import Played, played
from tests.stories.recorded import Recorded
from tests.stories.recorded_calls import Session, discovery_cases, sessions_in


def play(folder: Path) -> Iterator[Result]:
    """Results for each answer to Discovery, and for each session."""
    if not (folder / "calls.jsonl.gz").is_file():
        yield Result(str(folder), ("there is no calls.jsonl.gz in this folder",))
        return
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        endings = runner.run(discovery_endings(list(discovery_cases(folder).values())))
    for case, lines in endings.items():
        yield Result(case, tuple(lines))
    for name in sessions_in(folder):
        yield from _results(Session(name, folder))


def _results(session: Session) -> Iterator[Result]:
    stories = session.folder.parent / "traces"
    try:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            result = runner.run(played(Recorded.read(session.name, stories), session))
    except Exception as error:
        # One session that breaks must not hide the others.
        yield Result(session.name, (f"raised {type(error).__name__}: {error}",))
        return
    yield Result(f"{session.name}/order", tuple(_order(result)))
    for call, lines in result.requests().items():
        yield Result(f"{session.name}/{call}", tuple(lines))


def _order(value: Played) -> Iterator[str]:
    yield from compared(value.recorded_order, value.order, "order")
