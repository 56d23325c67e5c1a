"""Connects to the cluster that a program's environment names."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from kapy.client.client import Client
from kapy.client.in_cluster import in_cluster, is_in_cluster
from kapy.client.kubeconfig import Kubeconfig
from kapy.client.kubeconfig_files import home, load, paths


@asynccontextmanager
async def connect(
    kubeconfig: str | Path = "",
    *,
    context: str = "",
    field_manager: str = "kapy",
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Client]:
    """Connect to a Kubernetes API server and close the connections at the end of the block.

    kubeconfig: the file to use. Without it the client uses the files of `$KUBECONFIG`, else the
    service account of the Pod that the program runs in, else `~/.kube/config`: the order of
    controller-runtime. context: the kubeconfig's context, "" for its current one; with a context,
    the service account is not used.
    field_manager: the owner of the fields that the client writes. environ: the environment
    variables, those of the process by default. Raises KubeconfigError.
    """
    # aiohttp is imported by programs that connect, not by those that import this module.
    from kapy.client.https import ApiTransport

    transport = ApiTransport(
        access(kubeconfig, context, os.environ if environ is None else environ)
    )
    try:
        yield Client(transport, field_manager=field_manager)
    finally:
        await transport.aclose()


def access(kubeconfig: str | Path, context: str, environ: Mapping[str, str]) -> Kubeconfig:
    """Return the server and credential that `connect` uses. Raises KubeconfigError."""
    named = kubeconfig or context or environ.get("KUBECONFIG")
    if not named and is_in_cluster(environ):
        return in_cluster(environ)
    return load([Path(kubeconfig)] if kubeconfig else paths(environ, home()), context)
