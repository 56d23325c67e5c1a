"""Who issues the certificates of providers' webhooks: chosen, or by what is installed."""

from __future__ import annotations

from typing import Final, Literal

from kapy.client.client import Client
from kapy.clusterctl.certificates.cert_manager import is_there
from kapy.clusterctl.config import Config

Issuer = Literal["cert-manager", "kapy"]
Choice = Literal["auto", "cert-manager", "kapy"]
CHOICES: Final[tuple[Choice, ...]] = ("auto", "cert-manager", "kapy")


async def issuer(client: Client, config: Config, choice: Choice) -> Issuer:
    """Who it is; of itself cert-manager where it is installed, or somebody else installs it."""
    if choice != "auto":
        return choice
    if config.cert_manager.externally_provisioned or await is_there(client):
        return "cert-manager"
    return "kapy"
