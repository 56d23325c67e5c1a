"""Names of the objects of a managed cluster.

Names look like upstream's: a prefix and five characters. The characters are derived from the
purpose of the object, so a retry after a lost response uses the same name. An existing object keeps
its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kapy.api.cluster import Cluster
from kapy.api.naming import generate_name as templated_name
from kapy.kube import Document
from kapy.kube.generated_names import generated_name, suffix

CLUSTER_NAMES: Final = "{{ .cluster.name }}-{{ .random }}"
"""The default naming template of objects that exist once per cluster."""


def worker_names(key: str) -> str:
    """Return the default naming template of worker groups. key: the name of the group's kind in
    templates.
    """
    return f"{{{{ .cluster.name }}}}-{{{{ .{key}.topologyName }}}}-{{{{ .random }}}}"


def worker_prefix(cluster: str, topology: str) -> str:
    """Return the name prefix of templates and objects of a worker group. topology: the group's
    topology name.
    """
    return f"{cluster}-{topology}-"


def control_plane_prefix(cluster: str) -> str:
    """Return the name prefix of the control plane's machine template."""
    return f"{cluster}-"


def shim_name(cluster: str) -> str:
    """Return the name of the Secret that owns new objects of a Cluster until the Cluster owns
    them.
    """
    return f"{cluster}-shim"


def prefixed_name(prefix: str, cluster: Cluster, *slot: str) -> str:
    """Return a name with a prefix and a derived suffix. slot: distinguishes the object from others
    of its Cluster with that prefix."""
    return generated_name(prefix, cluster.metadata.uid, *slot)


def class_name(
    template: str, cluster: Cluster, *slot: str, variables: Mapping[str, Any] | None = None
) -> str:
    """Return a name from a naming template of the class. variables: template variables besides the
    cluster.

    Raises BadNameTemplate.
    """
    uid = cluster.metadata.uid
    data = {"cluster": {"name": cluster.metadata.name}, **(variables or {})}
    return templated_name(template, data, suffix(uid, *slot), again=suffix(uid, *slot, "again"))


def next_name(prefix: str, cluster: Cluster, current: str, template: Document) -> str:
    """Return the name of a template that replaces another one because the spec has changed.

    current: the name of the replaced template. A spec that is restored later gets a new name, too.
    """
    spec = msgspec.json.encode(template.get("spec"), order="deterministic")
    return prefixed_name(prefix, cluster, template["kind"], current, spec.hex())
