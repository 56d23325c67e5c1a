"""Read the objects that a MachinePool refers to, set their ownership, copy their failures."""

from __future__ import annotations

from typing import Final, TypeVar

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.fields import View
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.contract.observed import Found, Observed, Unreadable
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference

V = TypeVar("V", bound=View)

MAX_MESSAGE: Final = 10240  # of failureMessage, in the schema


async def get_owned(
    scope: MachinePoolScope, ref: ContractVersionedObjectReference, view: type[V]
) -> Observed[V]:
    """Return the object that the pool refers to, with the pool as its controller and the Cluster's
    label. The creation of a missing one enqueues the pool.
    """
    pool, dependencies = scope.pool, scope.dependencies
    result = await dependencies.external.get(ref, scope.namespace, view)
    if not isinstance(result, Found):
        return result
    owner = owner_reference(pool, controller=True, block_deletion=True)

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner, cluster=pool.spec.cluster_name)

    document = result.view.document
    try:
        if not patch(document):
            return result
        resource = await dependencies.external.resource_of(document)
        document = await claim(dependencies.client, resource, document, patch)
    except NotFound:
        return await dependencies.external.get(ref, scope.namespace, view)
    except KapyError as error:
        return Unreadable(error)
    return Found(view(document, result.view.contract))


def copy_failures(scope: MachinePoolScope, view: BootstrapConfig | InfraMachinePool) -> None:
    """Copy the terminal failure that a v1beta1 provider reports; it is never unset.

    Raises WrongType.
    """
    reason, message = view.failure_reason, view.failure_message
    if reason:
        scope.legacy.failure_reason = reason
    if message:
        group, _, version = view.document["apiVersion"].partition("/")
        kind = f"{group}/{version}, Kind={view.kind}"
        text = (
            f'Failure detected from referenced resource {kind} with name "{view.name}": {message}'
        )
        scope.legacy.failure_message = text[:MAX_MESSAGE]
