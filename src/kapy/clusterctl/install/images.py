"""The images that an installation needs."""

from __future__ import annotations

from kapy.client.client import Client
from kapy.clusterctl.certificates import cert_manager
from kapy.clusterctl.certificates.choice import Choice, issuer
from kapy.clusterctl.config import Config
from kapy.clusterctl.install.asked import Asked
from kapy.clusterctl.install.queue import queue
from kapy.clusterctl.inventory import Inventory
from kapy.clusterctl.progress import silent


async def list_images(
    client: Client, config: Config, asked: Asked, *, certificates: Choice = "auto"
) -> list[str]:
    """Names of images, sorted. Nothing is written. Raises ClusterctlErrors, ApiErrors."""
    inventory = Inventory(client)
    await inventory.check_contract(not_installed=True)
    usual = asked.with_usual(await inventory.installed())
    queued = await queue(usual, [], config, silent, substitute=False)
    found = {image for one in queued for image in one.images}
    theirs: list[str] = []
    if await issuer(client, config, certificates) == "cert-manager":
        theirs = await cert_manager.images(client, config)
    return sorted([*theirs, *found])
