"""How the objects of a managed cluster are called.

They are called as upstream's are, prefix and five characters; but these follow from what an object
is made for, so that whoever tries again after a lost answer asks for the same name. An object that
is there keeps its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kapy.api.cluster import Cluster
from kapy.api.naming import generated_name as templated_name
from kapy.kube import Document
from kapy.kube.generated_names import generated_name, suffix

CLUSTER_NAMES: Final = "{{ .cluster.name }}-{{ .random }}"
"""Of what there is once in a cluster, unless its class says otherwise."""


def worker_names(key: str) -> str:
    """Of groups of worker machines; key: what their kind's templates call one."""
    return f"{{{{ .cluster.name }}}}-{{{{ .{key}.topologyName }}}}-{{{{ .random }}}}"


def worker_prefix(cluster: str, topology: str) -> str:
    """Of templates and objects of a group of worker machines; topology: what the Cluster calls
    the group."""
    return f"{cluster}-{topology}-"


def control_plane_prefix(cluster: str) -> str:
    """Of the template of the control plane's machines."""
    return f"{cluster}-"


def shim_name(cluster: str) -> str:
    """Of the Secret that owns what was made for a Cluster until the Cluster does."""
    return f"{cluster}-shim"


def prefixed_name(prefix: str, cluster: Cluster, *slot: str) -> str:
    """slot: what tells an object from all others of its Cluster with the prefix."""
    return generated_name(prefix, cluster.metadata.uid, *slot)


def class_name(
    template: str, cluster: Cluster, *slot: str, more: Mapping[str, Any] | None = None
) -> str:
    """A name as a class wants it. more: what its template may name besides the cluster.

    Raises BadNameTemplate.
    """
    uid = cluster.metadata.uid
    data = {"cluster": {"name": cluster.metadata.name}, **(more or {})}
    return templated_name(template, data, suffix(uid, *slot), again=suffix(uid, *slot, "again"))


def next_name(prefix: str, cluster: Cluster, current: str, template: Document) -> str:
    """Of the template that takes the place of another one, because its spec is another.

    current: the name of that other one. A spec that comes back gets a new name, too.
    """
    spec = msgspec.json.encode(template.get("spec"), order="deterministic")
    return prefixed_name(prefix, cluster, template["kind"], current, spec.hex())
