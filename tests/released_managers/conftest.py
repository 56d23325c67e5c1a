"""Releases of others, as they were built: run only where a variable names their folder.

KAPY_MANAGERS/ipam-in-cluster/manager                          the program, executable
KAPY_MANAGERS/ipam-in-cluster/v1.1.0/ipam-components.yaml      its release, with metadata.yaml
KAPY_RELEASES/infrastructure-aws/v2.11.0/…                     the same without a program, as
                                                               `component_files` makes them
"""

from __future__ import annotations

import os

from tests.released_managers.releases import releases

collect_ignore_glob = [] if os.environ.get("KAPY_MANAGERS") else ["test_plane.py"]
if not releases():
    collect_ignore_glob.append("test_components.py")
