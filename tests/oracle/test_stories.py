"""The topics `traces` and `extension` of the replayer; `tests/stories` plays the recordings."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from tests.oracle.recorded import SAMPLES
from tests.oracle.registry import play
from tests.stories.recorded_calls import CALLS

STORY = "a-plain"


def test_a_stage_that_is_not_as_recorded_is_a_failure(tmp_path: Path) -> None:
    """One field of one object of the last stage but one is changed."""
    folder = tmp_path / "traces"
    shutil.copytree(SAMPLES / "traces" / STORY, folder / STORY)
    final = folder / STORY / "final.yaml.gz"
    text = gzip.decompress(final.read_bytes()).decode()
    assert "clusterName: capybara" in text
    final.write_bytes(
        gzip.compress(text.replace("clusterName: capybara", "clusterName: p", 1).encode())
    )
    ((topic, results),) = play("traces", folder)
    assert topic == "traces"
    failed = [item.case for item in results if not item.passed]
    assert len(results) > len(failed) == 1, results


def test_a_folder_without_stories_or_calls_is_a_failure(tmp_path: Path) -> None:
    for topic in ("traces", "extension"):
        ((_, results),) = play(topic, tmp_path)
        assert [item.passed for item in results] == [False]


def test_a_session_without_a_story_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "extension"
    shutil.copytree(CALLS, folder)
    ((_, results),) = play("extension", folder)
    assert [item.case for item in results if not item.passed] == ["ext-life", "ext-inplace"]
