"""Connects to workload clusters over the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.kube.http import Transport


UrlOverride: TypeAlias = Callable[[str], str]
"""Returns the URL by which this machine reaches a server, "" if the server's own URL works."""


MAX_RESPONSE_BYTES: Final = 64 << 20
"""The maximum size of a response of a workload cluster, which is not trusted: a page of 500 large
objects."""


def over_network(kubeconfig: Kubeconfig) -> Transport:
    """Connect as the kubeconfig's user. Raises KubeconfigError."""
    from kapy.client.https import (
        ApiTransport,
    )  # imports aiohttp, which a plane without such clusters does not need

    return ApiTransport(kubeconfig, max_bytes=MAX_RESPONSE_BYTES)


def with_url_override(instead_of: UrlOverride, kubeconfig: Kubeconfig) -> Kubeconfig:
    """Replace the URL of an access; the server's certificate is still checked for the original
    name."""
    url = instead_of(kubeconfig.server)
    if not url:
        return kubeconfig
    name = kubeconfig.tls_server_name or urlsplit(kubeconfig.server).hostname or ""
    return replace(kubeconfig, server=url, tls_server_name=name)


def rate_limited(qps: float, burst: float, kubeconfig: Kubeconfig) -> Transport:
    """Connect as the kubeconfig's user, with a rate limit. Raises KubeconfigError."""
    from kapy.client.rate_limit import RateLimited

    return RateLimited(over_network(kubeconfig), qps=qps, burst=burst)
