"""Templates of provider objects: their contract fields, their owner, and cloning.

A template is an object with `spec.template`; objects cloned from it have the template's kind
without "Template".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Label
from kapy.contract.errors import FieldProblem
from kapy.contract.external import External, Reference
from kapy.contract.fields import Field, View, kind_of
from kapy.contract.observed import Observed
from kapy.contract.ownership import ownership_patch
from kapy.contract.values import template_meta
from kapy.kube import Document, Key
from kapy.kube.meta import OwnerReference, owner_reference
from kapy.kube.model import encode
from kapy.kube.names import GroupKind, split_api_version

SUFFIX: Final = "Template"

_NEVER_FROM_TEMPLATE: Final = frozenset({"resourceVersion", "finalizers", "uid", "selfLink"})


class Template(View):
    """The fields of any template that core reads."""

    __slots__ = ()

    metadata = Field("spec.template.metadata", template_meta)


class InfraMachineTemplate(Template):
    """The contract fields of a template of infrastructure machines. Autoscalers read
    `status.capacity`.
    """

    __slots__ = ()


class InfraClusterTemplate(Template):
    """The contract fields of a template of infrastructure clusters."""

    __slots__ = ()


class BootstrapConfigTemplate(Template):
    """The contract fields of a template of bootstrap configurations."""

    __slots__ = ()


class ControlPlaneTemplate(Template):
    """The contract fields of a template of control planes."""

    __slots__ = ()

    machine_metadata = Field("spec.template.spec.machineTemplate.metadata", template_meta)


def clone_template(
    template: Document,
    *,
    name: str,
    namespace: str,
    cluster_name: str,
    owner: OwnerReference | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Document:
    """Return a new object from a template; it shares parts of the template's `spec`.

    The given labels and annotations override the template's; annotations name the template. Raises
    FieldProblem if `spec.template` is no object.
    """
    result = (template.get("spec") or {}).get("template")
    inner = {} if result is None else result
    if not isinstance(inner, dict):
        who = f"{template['kind']} {Key.of(template)}"
        raise FieldProblem("spec.template", f"is no object, but {kind_of(inner)} in {who}")
    group, _ = split_api_version(template["apiVersion"])
    template_metadata: dict[str, Any] = inner.get("metadata") or {}
    metadata: Document = {
        key: value for key, value in template_metadata.items() if key not in _NEVER_FROM_TEMPLATE
    }
    metadata["name"] = name
    metadata["namespace"] = namespace
    metadata["labels"] = {
        **(template_metadata.get("labels") or {}),
        **(labels or {}),
        Label.CLUSTER_NAME: cluster_name,
    }
    metadata["annotations"] = {
        **(template_metadata.get("annotations") or {}),
        **(annotations or {}),
        Annotation.CLONED_FROM_NAME: template["metadata"]["name"],
        Annotation.CLONED_FROM_GROUP_KIND: str(GroupKind(group, template["kind"])),
    }
    if owner is not None:
        metadata["ownerReferences"] = [encode(owner)]
    return {
        **inner,
        "apiVersion": inner.get("apiVersion") or template["apiVersion"],
        "kind": inner.get("kind") or template["kind"].removesuffix(SUFFIX),
        "metadata": metadata,
    }


async def owned_template(
    external: External, ref: Reference, cluster: Cluster
) -> Observed[Template]:
    """Return the template that `ref` names, owned by the Cluster. An object that is no template is
    only read.
    """
    namespace, owner = cluster.metadata.namespace, owner_reference(cluster)
    if not ref.kind.endswith(SUFFIX):
        return await external.get(ref, namespace, Template)
    return await external.get_owned(
        ref, namespace, Template, lambda document: ownership_patch(document, owner)
    )
