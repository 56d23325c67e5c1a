"""Without `../shared` the recorded cases are not collected (one line at the end says so)."""

from __future__ import annotations

from tests.oracle.recorded import absent, must_be_there

collect_ignore = ["test_recorded.py"] if absent() and not must_be_there() else []
