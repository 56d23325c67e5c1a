"""Checks of a ClusterClass that read its Clusters."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.validation.class_use import class_key, in_use_errors
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.field_errors import FieldError

_MAX_SHOWN: Final = 3


async def change_errors(client: Client, old: ClusterClass, new: ClusterClass) -> list[FieldError]:
    """Return the errors of a change that would break Clusters of the class."""
    return in_use_errors(old, new, await _users(client, old.key))


async def deletion_problem(client: Client, cluster_class: ClusterClass) -> str:
    """Return why the class cannot be deleted; "" if it can."""
    users = [str(user.key) for user in await _users(client, cluster_class.key)]
    if not users:
        return ""
    result = ", ".join(users[:_MAX_SHOWN])
    more = f", ... ({len(users) - _MAX_SHOWN} more)" if len(users) > _MAX_SHOWN else ""
    return f"ClusterClass cannot be deleted because it is used by Cluster(s): {result}{more}"


async def _users(client: Client, key: Key) -> list[Cluster]:
    clusters = (await client.list(Cluster)).items
    return [cluster for cluster in clusters if class_key(cluster) == key]
