"""Without `../shared` the recorded cases are not collected (one line at the end says so)."""

from __future__ import annotations

from tests.oracle.recorded import RECORDED, must_be_there

collect_ignore = (
    [] if (RECORDED / "extension").is_dir() or must_be_there() else ["test_recorded_discovery.py"]
)
