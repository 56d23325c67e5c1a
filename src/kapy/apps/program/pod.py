"""The pod that this process runs in, where it runs in one."""

from __future__ import annotations

import os

from kapy.client.in_cluster import MOUNTED


def namespace_of_pod() -> str:
    """Its namespace, "" where there is no pod."""
    told = os.environ.get("POD_NAMESPACE", "")
    try:
        return told or (MOUNTED / "namespace").read_text().strip()
    except OSError:
        return ""
