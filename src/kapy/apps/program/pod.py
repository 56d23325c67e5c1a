"""The pod that this process runs in, where it runs in one."""

from __future__ import annotations

import os

from kapy.client.in_cluster import SERVICE_ACCOUNT_FOLDER


def namespace_of_pod() -> str:
    """Its namespace, "" where there is no pod."""
    namespace = os.environ.get("POD_NAMESPACE", "")
    try:
        return namespace or (SERVICE_ACCOUNT_FOLDER / "namespace").read_text().strip()
    except OSError:
        return ""
