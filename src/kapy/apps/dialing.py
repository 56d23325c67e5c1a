"""How workload clusters are reached that are not in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.kube.http import Transport


def over_network(kubeconfig: Kubeconfig) -> Transport:
    """As one user. Raises KubeconfigError."""
    from kapy.client.https import Https  # aiohttp: a plane without such clusters does not need it

    return Https(kubeconfig)


def paced(qps: float, burst: float, kubeconfig: Kubeconfig) -> Transport:
    """The same, asking each cluster no more often than that. Raises KubeconfigError."""
    from kapy.client.pacing import Paced

    return Paced(over_network(kubeconfig), qps=qps, burst=burst)
