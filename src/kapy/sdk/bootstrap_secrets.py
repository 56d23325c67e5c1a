"""Secrets with boot data (contract: data secret): written for configurations, read for Machines.

A Secret has the name of its configuration, so that it is found again after a move or a restore.
Secrets of a cluster carry its label and are watched. A user's own bootstrap Secret may lack the
label: it is read with back-off, since its creation is not watched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.api.names import Label
from kapy.contract.ownership import is_same_owner
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.meta import Object, OwnerReference, owner_reference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.remote.secrets import KUBECONFIG_VALUE, cluster_secret, secret_value
from kapy.sdk.results import BootstrapData

_VALUE: Final = KUBECONFIG_VALUE
_FORMAT: Final = "format"

LABELLED: Final = Label.CLUSTER_NAME
"""The label selector for the Secrets of clusters. All users of this selector share one watch."""


class OwnedByOther(KapyError):
    """Another kind of object controls the Secret of the configuration's name."""


class BootstrapSecrets:
    """Stores the bootstrap data of configurations in Secrets."""

    def __init__(self, runtime: Runtime) -> None:
        self.secrets = runtime.cache.informer(SECRETS, labels=LABELLED)
        self._client = runtime.client

    async def store(
        self, config: Object, cluster: Key, data: BootstrapData, *, renew: bool = False
    ) -> None:
        """Store the data in the Secret. A Secret of an earlier attempt keeps its content, because a
        machine may have read it, unless `renew` is set. Raises OwnedByOther.
        """
        content = {_VALUE: data.value, _FORMAT: data.format.encode()}
        secret = cluster_secret(config.metadata.name, cluster, content, _owner(config))
        try:
            await self._client.create(SECRETS, secret)
        except AlreadyExists:
            there = await self._client.get(SECRETS, config.key)
            if not renew and _is_ours(there, config):
                return
            _check_controller(config, there)
            await self._client.patch(SECRETS, config.key, secret)

    async def read(self, config: Object) -> BootstrapData | None:
        """Return the data of the configuration; None if its Secret does not exist or belongs to
        another owner. Raises BadSecret.
        """
        secret = self.secrets.raw(config.key)
        if secret is None:
            try:
                secret = await self._client.get(SECRETS, config.key)
            except NotFound:
                return None
        value = secret_value(secret, _VALUE)
        if value is None or not _is_ours(secret, config):
            return None
        result = secret_value(secret, _FORMAT)
        return BootstrapData(value=value, format=(result or b"cloud-config").decode())

    async def keep_owned(self, config: Object) -> None:
        """Restore the owner of the Secret: a move or a restore may have lost it. Raises
        OwnedByOther.
        """
        secret = self.secrets.raw(config.key)
        if secret is None:
            return
        there: list[Document] = secret["metadata"].get("ownerReferences") or []
        wanted = encode(_owner(config))
        if wanted in there:
            return
        _check_controller(config, secret)
        others = [item for item in there if not is_same_owner(item, wanted)]
        patch = {
            "metadata": {
                "ownerReferences": [*others, wanted],
                "resourceVersion": secret["metadata"]["resourceVersion"],
            }
        }
        await self._client.patch(SECRETS, config.key, patch)


def _owner(config: Object) -> OwnerReference:
    return owner_reference(config, controller=True)


def _is_ours(secret: Document, config: Object) -> bool:
    owners = secret["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == config.metadata.uid for owner in owners)


def _check_controller(config: Object, secret: Document) -> None:
    """Raise OwnedByOther if an object of another kind controls the Secret."""
    there = secret["metadata"].get("ownerReferences") or ()
    controller = next((item for item in there if item.get("controller")), None)
    kind, name = config.RESOURCE.kind, config.metadata.name
    if controller is not None and controller.get("kind") != kind:
        raise OwnedByOther(
            f"could not add {kind} {name} as ownerReference to bootstrap Secret {name}, it is"
            f" already controlled by {controller.get('kind')} {controller.get('name')}"
        )


class BootstrapSecret(NamedTuple):
    """The contents of a bootstrap Secret. format: the format of the data, "" if it is not set."""

    data: bytes
    format: str = ""


class BootstrapReader:
    """Reads bootstrap data Secrets."""

    def __init__(self, runtime: Runtime) -> None:
        self.secrets = runtime.cache.informer(SECRETS, labels=LABELLED)
        self._client = runtime.client

    async def read(self, key: Key, *, required: bool = True) -> BootstrapSecret:
        """Return the bootstrap data in a Secret. required: whether to wait for the data, too, if
        the Secret has none yet.

        Raises NotYet while the Secret does not exist, BadSecret if it is invalid.
        """
        secret = await self._secret(key)
        value = secret_value(secret, _VALUE)
        if value is None and not required:
            return BootstrapSecret(b"")
        if value is None:
            raise NotYet(f"the bootstrap data Secret {key} has no key {_VALUE}")
        form = secret_value(secret, _FORMAT) or b""
        return BootstrapSecret(value, form.decode(errors="replace"))

    async def _secret(self, key: Key) -> Document:
        cached = self.secrets.raw(key)
        if cached is not None:
            return cached
        try:
            return await self._client.get(SECRETS, key)
        except NotFound:
            raise NotYet(f"the bootstrap data Secret {key} is not there") from None
