"""From a Host to a shell on it: the private key, and the trust in the key of the server."""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import replace
from typing import Any, Final

from kapy.client import ApiError, NotFound
from kapy.sdk import Client, Key, Runtime, resource
from kapy_hosts.kinds import Host, HostSpec, JumpHost
from kapy_hosts.shell import Dialer, HostFailure, Shell, Target

SECRETS: Final = resource("", "v1", "Secret")
NAMESPACES: Final = resource("", "v1", "Namespace")
PRIVATE_KEY: Final = "ssh-privatekey"
PASSPHRASE: Final = "passphrase"
PLANE_NAMESPACE: Final = "kube-system"
"""Its UID identifies a management cluster."""


class Access:
    """Opens shells on hosts, with the addresses and credentials of their Host objects."""

    def __init__(self, runtime: Runtime, dialer: Dialer) -> None:
        self._client = runtime.client
        self._dialer = dialer
        self._plane = ""

    async def shell(self, host: Host) -> Shell:
        """Return a shell on a host. If no host key is trusted yet, the key of the host is stored. Raises
        HostFailure.
        """
        target = await target_of(self._client, host)
        shell = await self._dialer.connect(target)
        patch: dict[str, Any] = {}
        if not host.spec.host_key and shell.host_key:
            patch["hostKey"] = shell.host_key
        jump = host.spec.jump_host
        if jump is not None and not jump.host_key and shell.jump_key:
            patch["jumpHost"] = {"hostKey": shell.jump_key}
        if patch:  # before the first command
            version = {"resourceVersion": host.metadata.resource_version}
            document = {"metadata": version, "spec": patch}
            await self._client.patch(Host.RESOURCE, host.key, document)
        return shell

    async def plane(self) -> str:
        """Return the ID of this management cluster: the UID of its namespace `kube-system`."""
        if not self._plane:
            try:
                namespace = await self._client.get(NAMESPACES, Key("", PLANE_NAMESPACE))
                self._plane = namespace["metadata"]["uid"]
            except NotFound:
                self._plane = "unknown"
        return self._plane


async def target_of(client: Client, host: Host) -> Target:
    """Return how a host is reached. Raises HostFailure if its Secret cannot be used."""
    spec = host.spec
    key, passphrase = b"", b""
    if spec.private_key_secret_ref is not None:
        place = Key(host.metadata.namespace, spec.private_key_secret_ref.name)
        key, passphrase = await _private_key(client, place)

    def target(place: HostSpec | JumpHost) -> Target:
        return Target(
            place.address, place.port, place.user, host_key=place.host_key, private_key=key, passphrase=passphrase
        )

    jump = None if spec.jump_host is None else target(spec.jump_host)
    return replace(target(spec), sudo=spec.sudo, jump=jump)


async def _private_key(client: Client, key: Key) -> tuple[bytes, bytes]:
    try:
        secret = await client.get(SECRETS, key)
    except NotFound:
        raise HostFailure("LoginRefused", f"Secret {key} does not exist") from None
    except ApiError as error:
        raise HostFailure("LoginRefused", f"Secret {key} cannot be read: {error}") from None
    data = secret.get("data") or {}
    try:
        private_key = b64decode(data.get(PRIVATE_KEY) or "", validate=True)
        passphrase = b64decode(data.get(PASSPHRASE) or "", validate=True)
    except (binascii.Error, ValueError):
        private_key = passphrase = b""
    if not private_key:
        raise HostFailure("LoginRefused", f"Secret {key} has no {PRIVATE_KEY}")
    return private_key, passphrase
