"""Stories that were recorded from upstream's managers end here as they ended there.

Every object at every stable point: the same kinds and numbers of objects, owners, labels,
annotations, finalizers, specs, conditions with reasons and messages, counters, Secret keys.
"""

from __future__ import annotations

import pytest

from tests.oracle.sampling import STORIES as SAMPLED
from tests.stories.playing import endings_of
from tests.stories.recorded import Recorded

STORIES = (
    "a-plain",
    "b-topology",
    "c-md-scale",
    "d-md-rollout",
    "e-kcp-scale",
    "e-kcp-scale-3-5-3",
    "f-upgrade",
    "g-pause",
    "h-mhc",
    "i-crs",
    "j-delete-hooks",
    "k-variable-change",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(story, marks=() if story in SAMPLED else pytest.mark.recorded)
        for story in STORIES
    ],
)
async def test_a_story_ends_as_it_was_recorded(name: str) -> None:
    endings = await endings_of(Recorded.read(name))
    assert endings
    assert {stage: lines for stage, lines in endings.items() if lines} == {}
