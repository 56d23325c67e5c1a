"""Phase: make a ClusterClass an owner of the templates that it refers to."""

from __future__ import annotations

from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.contract.classes import template_refs
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.clusterclass.scope import ClassScope, Outdated
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import GroupKind, split_api_version


class UnusableTemplate(KapyError):
    """Templates of a class cannot be read or owned."""


async def reconcile_templates(scope: ClassScope) -> Result:
    """Make the class an owner of every template, even after one failed; the creation of a missing
    template enqueues the class.
    """
    problems: list[str] = []
    error_type: type[KapyError] = NotYet
    for ref in template_refs(scope.cluster_class):
        try:
            await _own(scope, ref)
            await _compare_version(scope, ref)
        except KapyError as error:
            problems.append(_reference_error(scope, ref, error))
            if not isinstance(error, NotFound):
                error_type = UnusableTemplate
    if problems:
        scope.unreadable = error_type("; ".join(problems))
        raise scope.unreadable
    return DONE


async def _own(scope: ClassScope, ref: ClusterClassTemplateReference) -> None:
    """Make the class an owner of one template. Raises NotFound, ContractError, and the client's
    errors.
    """
    dependencies, namespace = scope.dependencies, scope.cluster_class.metadata.namespace
    template = await dependencies.external.get_version(
        ref.api_version, ref.kind, Key(namespace, ref.name)
    )
    owner = owner_reference(scope.cluster_class)

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner)

    if patch(template):
        await claim(
            dependencies.client, await dependencies.external.resource_of(template), template, patch
        )


async def _compare_version(scope: ClassScope, ref: ClusterClassTemplateReference) -> None:
    group, version = split_api_version(ref.api_version)
    newest = (
        await scope.dependencies.external.resolve(GroupKind(group, ref.kind))
    ).resource.version
    if version != newest:
        scope.outdated.append(Outdated(ref.kind, ref.name, version, newest))


def _reference_error(
    scope: ClassScope, ref: ClusterClassTemplateReference, error: KapyError
) -> str:
    who = f"{ref.kind} {scope.cluster_class.metadata.namespace}/{ref.name} ({ref.api_version})"
    if isinstance(error, NotFound):
        return f"{who} does not exist"
    return f"{who} cannot be used: {error}"
