"""The Secret that carries a machine's boot data to whoever makes the machine."""

from __future__ import annotations

from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.kube import Document
from kapy.kube.errors import AlreadyExists, KapyError
from kapy.kube.meta import OwnerReference, owner_reference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.providers.kubeadm.bootstrap.scope import Scope
from kapy.remote.secrets import cluster_secret

VALUE: Final = "value"
FORMAT: Final = "format"
CLOUD_CONFIG: Final = "cloud-config"
IGNITION: Final = "ignition"


class OwnedByOther(KapyError):
    """Another kind of object controls the Secret of the config's name."""


async def store(scope: Scope, data: str) -> None:
    """Keep the boot data, and say so in the KubeadmConfig.

    The Secret may be there from an attempt that did not get to say so.
    """
    config, client = scope.config, scope.tools.runtime.client
    content = {
        VALUE: data.encode(),
        FORMAT: (config.spec.format or CLOUD_CONFIG).encode(),
    }
    secret = cluster_secret(config.metadata.name, scope.cluster.key, content, _owner(config))
    try:
        await client.create(SECRETS, secret)
    except AlreadyExists:
        await client.patch(SECRETS, config.key, secret)
    available(scope, config.metadata.name)


def available(scope: Scope, name: str) -> None:
    """Report the Secret in the KubeadmConfig's status."""
    status = scope.config.status
    status.data_secret_name = name
    status.initialization.data_secret_created = True
    scope.data_available()


async def keep_owned(scope: Scope) -> None:
    """Give the Secret its owner back (a move or a restore may have lost it).

    Raises OwnedByOther.
    """
    config = scope.config
    secret = scope.tools.remote.secrets.raw(config.key)
    if secret is None:
        return
    there: list[Document] = secret["metadata"].get("ownerReferences") or []
    wanted = encode(_owner(config))
    if wanted in there:
        return
    controller = next((one for one in there if one.get("controller")), None)
    if controller is not None and controller.get("kind") != wanted["kind"]:
        raise OwnedByOther(
            f"could not add KubeadmConfig {config.metadata.name} as ownerReference to bootstrap"
            f" Secret {config.metadata.name}, it is already controlled by"
            f" {controller.get('kind')} {controller.get('name')}"
        )
    others = [one for one in there if not _names_the_same(one, wanted)]
    patch = {
        "metadata": {
            "ownerReferences": [*others, wanted],
            "resourceVersion": secret["metadata"]["resourceVersion"],
        }
    }
    await scope.tools.runtime.client.patch(SECRETS, config.key, patch)


def _owner(config: KubeadmConfig) -> OwnerReference:
    return owner_reference(config, controller=True)


def _names_the_same(one: Document, other: Document) -> bool:
    group, other_group = (ref["apiVersion"].partition("/")[0] for ref in (one, other))
    return (group, one["kind"], one["name"]) == (other_group, other["kind"], other["name"])
