"""How workload clusters are reached that are not in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.kube.http import Transport


LARGEST_ANSWER: Final = 64 << 20
"""Bytes of an answer of a workload cluster, which may be anybody's: a page of 500 large objects."""


def over_network(kubeconfig: Kubeconfig) -> Transport:
    """As one user. Raises KubeconfigError."""
    from kapy.client.https import Https  # aiohttp: a plane without such clusters does not need it

    return Https(kubeconfig, most=LARGEST_ANSWER)


def paced(qps: float, burst: float, kubeconfig: Kubeconfig) -> Transport:
    """The same, asking each cluster no more often than that. Raises KubeconfigError."""
    from kapy.client.pacing import Paced

    return Paced(over_network(kubeconfig), qps=qps, burst=burst)
