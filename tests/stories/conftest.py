"""Without `../shared` the recorded stories are not collected (one line at the end says so)."""

from __future__ import annotations

from tests.oracle.recorded import RECORDED, must_be_there

collect_ignore = (
    []
    if (RECORDED / "traces").is_dir() or must_be_there()
    else ["test_recorded_stories.py", "test_recorded_extensions.py", "test_released_classes.py"]
)
