"""The infrastructure template that Machines are made from."""

from __future__ import annotations

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.sdk import Absent, Found, InfraMachineTemplate, Result, Unreadable


class TemplateAbsent(KapyError):
    """The infrastructure template does not exist."""


async def infrastructure_template(tools: Tools, plane: ControlPlane) -> Document:
    """The template (shared). Raises TemplateAbsent, or what made it unreadable."""
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    namespace = plane.kcp.metadata.namespace
    match await tools.external.get(reference, namespace, InfraMachineTemplate):
        case Found(view):
            return view.document
        case Absent():
            plane.template_problem = f"{reference.kind} does not exist"
            raise TemplateAbsent(
                f'{reference.kind}.{reference.api_group} "{reference.name}" not found'
            )
        case Unreadable(error):
            plane.template_problem = f"{reference.kind} {reference.name} cannot be read: {error}"
            raise error


async def own_template(tools: Tools, plane: ControlPlane) -> Result | None:
    """Let the Cluster own the template, so that it is moved and deleted with it."""
    template = await infrastructure_template(tools, plane)
    wanted = encode(owner_reference(plane.cluster))
    there: list[Document] = template["metadata"].get("ownerReferences") or []
    if wanted in there:
        return None
    others = [one for one in there if one.get("uid") != plane.cluster.metadata.uid]
    patch = {
        "metadata": {
            "ownerReferences": [*others, wanted],
            "resourceVersion": template["metadata"]["resourceVersion"],
        }
    }
    resource = await tools.external.resource_of(template)
    await tools.runtime.client.patch(resource, Key.of(template), patch)
    return None
