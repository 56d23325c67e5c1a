"""The configuration of a process that serves an extension, and its certificate."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from kapy._aio.clock import system_clock
from kapy.apps.https.certificate import Certificate, SuppliedCertificate, certificate_in

FAILED: Final = "failed"
"""The notice of a process that cannot serve, with the reason."""


class ProcessConfig(msgspec.Struct, kw_only=True, frozen=True):
    """The configuration of one process.

    target: `MODULE:NAME` of the extension. folder, secret: where its certificate is; the secret is
    NAMESPACE/NAME, of the cluster of kubeconfig, "" for the folder. names: the DNS names and
    addresses in the certificate. client_ca: a file of the CA of clients, "" for none. log_level:
    the least level that is logged.
    """

    target: str
    folder: str
    names: list[str]
    secret: str = ""
    kubeconfig: str = ""
    client_ca: str = ""
    log_level: int = 30


async def certificate_of(
    config: ProcessConfig, stack: AsyncExitStack, *, follows: bool = False
) -> Certificate:
    """Return the certificate of a configuration; the stack closes what it needs.

    follows: another process creates and renews a certificate in a folder. Raises NoCertificate.
    """
    folder = Path(config.folder)
    if config.secret:
        return await _shared_certificate(config, stack)
    if follows:
        return SuppliedCertificate(folder, system_clock)
    return await certificate_in(folder, config.names, system_clock)


async def _shared_certificate(config: ProcessConfig, stack: AsyncExitStack) -> Certificate:
    from kapy.apps.https.shared_certificate import SharedCertificate
    from kapy.hooks.clusters import management_cluster
    from kapy.kube import Key

    namespace, _, name = config.secret.partition("/")
    client = await stack.enter_async_context(management_cluster(config.kubeconfig))
    key = Key(namespace, name)
    shared = SharedCertificate(client, key, config.names, system_clock, Random())
    await shared.make_valid()
    return shared
