"""Real clusters are made by `make test-real` only, which builds their parts."""

from __future__ import annotations

import os

_ON_REQUEST = {
    "KAPY_REAL_UPSTREAM": "test_upstream.py",
    "KAPY_REAL_HOSTS": "test_hosts*.py",
    "KAPY_REAL_CONFORMANCE": "test_*conformance.py",
    "KAPY_REAL_POOL": "test_hosts_faults.py",
    "KAPY_REAL_NESTED": "test_nested.py",
    "KAPY_REAL_QUIET": "test_quiet.py",
}
collect_ignore_glob = [files for name, files in _ON_REQUEST.items() if not os.environ.get(name)]
if not os.environ.get("KAPY_REAL_CLUSTERS"):
    collect_ignore_glob = ["test_*.py"]
