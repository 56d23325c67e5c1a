"""Chooses the issuer of providers' webhook certificates: cert-manager or kapy."""

from __future__ import annotations

from typing import Final, Literal

from kapy.client.client import Client
from kapy.clusterctl.certificates.cert_manager import is_there
from kapy.clusterctl.config import Config

Issuer = Literal["cert-manager", "kapy"]
Choice = Literal["auto", "cert-manager", "kapy"]
CHOICES: Final[tuple[Choice, ...]] = ("auto", "cert-manager", "kapy")


async def issuer(client: Client, config: Config, choice: Choice) -> Issuer:
    """Return the issuer for a choice of the user. `auto` means cert-manager if it is installed or
    provisioned externally, else kapy.
    """
    if choice != "auto":
        return choice
    if config.cert_manager.externally_provisioned or await is_there(client):
        return "cert-manager"
    return "kapy"
