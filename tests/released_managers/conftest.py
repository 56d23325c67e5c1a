"""Managers of releases, as they were built: run only where `KAPY_MANAGERS` names their folder.

KAPY_MANAGERS/ipam-in-cluster/manager                          the program, executable
KAPY_MANAGERS/ipam-in-cluster/v1.1.0/ipam-components.yaml      its release, with metadata.yaml
"""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("KAPY_MANAGERS") else ["test_*.py"]
