"""Read boot data: the key `value` of the Secret that a Machine names.

Secrets of a cluster carry its label and are watched. A user's own bootstrap Secret may lack the
label: it is read with back-off, since its creation is not watched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.api.names import Label
from kapy.engine.failure import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import SECRETS
from kapy.remote.secrets import KUBECONFIG_VALUE, secret_value

LABELLED: Final = Label.CLUSTER_NAME
"""The label selector for the Secrets of clusters. All users of this selector share one watch."""


FORMAT: Final = "format"


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
        value = secret_value(secret, KUBECONFIG_VALUE)
        if value is None and not required:
            return BootstrapSecret(b"")
        if value is None:
            raise NotYet(f"the bootstrap data Secret {key} has no key {KUBECONFIG_VALUE}")
        form = secret_value(secret, FORMAT) or b""
        return BootstrapSecret(value, form.decode(errors="replace"))

    async def _secret(self, key: Key) -> Document:
        cached = self.secrets.raw(key)
        if cached is not None:
            return cached
        try:
            return await self._client.get(SECRETS, key)
        except NotFound:
            raise NotYet(f"the bootstrap data Secret {key} is not there") from None
