"""The infrastructure template of the Machines."""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import (
    Result,
)
from kapy.sdk.contracts import Absent, Found, InfraMachineTemplate, Observed, Unreadable


class TemplateAbsent(KapyError):
    """The infrastructure template does not exist."""


async def infrastructure_template(dependencies: Dependencies, plane: ControlPlane) -> Document:
    """Return the template (a shared document). Raises TemplateAbsent, or the error of the read."""
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    namespace = plane.kcp.metadata.namespace
    return _document(
        plane, await dependencies.external.get(reference, namespace, InfraMachineTemplate)
    )


async def own_template(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Make the Cluster the owner of the template, so that it is moved and deleted with it."""
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    namespace = plane.kcp.metadata.namespace
    _document(plane, await dependencies.factory.template(reference, namespace, plane.cluster))
    return None


def _document(plane: ControlPlane, value: Observed[InfraMachineTemplate]) -> Document:
    reference = plane.kcp.spec.machine_template.spec.infrastructure_ref
    match value:
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
