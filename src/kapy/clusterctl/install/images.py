"""The images that an installation needs."""

from __future__ import annotations

from kapy.client.client import Client
from kapy.clusterctl.certificates import cert_manager
from kapy.clusterctl.certificates.choice import Choice, issuer
from kapy.clusterctl.config import Config
from kapy.clusterctl.install.queue import queue
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import no_progress


async def list_images(
    client: Client, config: Config, requested: RequestedProviders, *, certificates: Choice = "auto"
) -> list[str]:
    """Names of images, sorted. Nothing is written. Raises ClusterctlErrors, ApiErrors."""
    inventory = Inventory(client)
    await inventory.check_contract(not_installed=True)
    usual = requested.with_defaults(await inventory.installed())
    to_install = await queue(usual, [], config, no_progress, substitute=False)
    images = {image for components in to_install for image in components.images}
    theirs: list[str] = []
    if await issuer(client, config, certificates) == "cert-manager":
        theirs = await cert_manager.images(client, config)
    return sorted([*theirs, *images])
