"""Needs upstream's managers: `make test-migration` builds them and runs these tests only."""

from __future__ import annotations

from tests.real.migration.upstream import is_wanted

collect_ignore_glob = [] if is_wanted() else ["test_*.py"]
