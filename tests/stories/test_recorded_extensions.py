"""Calls of an extension, and the results of its answers, are as recorded from upstream's managers:
the same hooks in the same order with the same requests, and the same objects at every stage."""

from __future__ import annotations

import pytest

from tests.stories.playing_extensions import played
from tests.stories.recorded import Recorded
from tests.stories.recorded_calls import CALLS, Session, sessions_in


def test_the_recording_has_these_sessions() -> None:
    assert sessions_in(CALLS) == ["ext-life", "ext-inplace"]


@pytest.mark.parametrize("name", ["ext-life", "ext-inplace"])
async def test_a_life_with_extensions_matches_the_recording(name: str) -> None:
    """The story deletes its clusters itself. The test checks the calls afterwards."""
    result = await played(Recorded.read(name), Session(name))
    assert result.order == result.recorded_order
    assert {call: lines for call, lines in result.requests().items() if lines} == {}
    assert {stage: lines for stage, lines in result.endings.items() if lines} == {}
