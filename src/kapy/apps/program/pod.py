"""The Pod that this process runs in."""

from __future__ import annotations

import os

from kapy.client.in_cluster import SERVICE_ACCOUNT_FOLDER


def namespace_of_pod() -> str:
    """Return the Pod's namespace, "" outside of a Pod."""
    namespace = os.environ.get("POD_NAMESPACE", "")
    try:
        return namespace or (SERVICE_ACCOUNT_FOLDER / "namespace").read_text().strip()
    except OSError:
        return ""
