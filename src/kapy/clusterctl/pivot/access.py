"""The kubeconfig of a workload cluster, kept in a file.

The Secret `<cluster>-kubeconfig` moves with the cluster. A pivot that is resumed after that, and
the way back, need the file.
"""

from __future__ import annotations

from pathlib import Path

from kapy.client.client import Client
from kapy.clusterctl.atomic_file import atomic_write
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.kubeconfig import NoKubeconfig, admin_kubeconfig
from kapy.clusterctl.move.checks import identity
from kapy.clusterctl.server_from_here import Consoles, usable_kubeconfig
from kapy.kube import Key


async def kubeconfig_file(source: Client, cluster: Key, folder: Path, consoles: Consoles) -> Path:
    """Return the path of a file with the current kubeconfig of a cluster, or with the last known
    one. Raises MoveError.

    consoles: the consoles of machines, which know how to reach the cluster from here.
    """
    plane = (await identity(source))[:8] or "plane"
    path = folder / f"{plane}-{cluster.namespace}-{cluster.name}.kubeconfig"
    try:
        stored = await admin_kubeconfig(source, cluster)
        text = await usable_kubeconfig(source, cluster, stored, consoles)
    except NoKubeconfig as error:
        if path.exists():
            return path  # the Secret was moved into the cluster
        raise MoveError(
            f"there is no kubeconfig of Cluster {cluster} here: {error}; where it manages itself "
            "already, name its kubeconfig with --to-kubeconfig"
        ) from None
    _keep(path, text)
    return path


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_write(path, mode=0o600) as file:
        file.write(text.encode())
