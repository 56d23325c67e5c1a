"""Real clusters are made by `make test-real` only, which builds their parts."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("KAPY_REAL_UPSTREAM") else ["test_upstream.py"]
collect_ignore_glob = [] if os.environ.get("KAPY_REAL_CLUSTERS") else ["test_*.py"]
