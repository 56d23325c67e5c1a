"""Access to the API server of the cluster that this program runs in, as its Pod's service account.

Kubernetes sets the address in the environment and mounts token and CA. The kubelet renews the
token, so its file is read again (`kapy.client.https`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kapy.client.kubeconfig import Kubeconfig, KubeconfigError

SERVICE_ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def is_in_cluster(environ: Mapping[str, str]) -> bool:
    """Return whether this process runs in a Pod of a cluster."""
    return bool(environ.get(_HOST) and environ.get(_PORT))


def in_cluster(environ: Mapping[str, str], mounted: Path = SERVICE_ACCOUNT_FOLDER) -> Kubeconfig:
    """Return the access of the Pod in which this process runs. Raises KubeconfigError."""
    host, port = environ[_HOST], environ[_PORT]
    try:
        authority = (mounted / "ca.crt").read_bytes()
        token = (mounted / "token").read_text().strip()
    except OSError as error:
        raise KubeconfigError(
            f"this pod has no service account at {mounted}: {error.strerror or error}; let its "
            "Deployment mount one (automountServiceAccountToken), or name a --kubeconfig"
        ) from None
    return Kubeconfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        certificate_authority=authority,
        token=token,
        token_file=str(mounted / "token"),
    )
