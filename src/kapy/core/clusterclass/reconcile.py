"""The reconciler of ClusterClasses: dependencies, scope, phases and conditions.

The phases make the class an owner of its templates, and collect its variable definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kapy._aio.clock import Clock
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.validation.cluster_class_variables import variable_errors
from kapy.client.client import Client
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true, unknown
from kapy.conditions.paused import paused_condition, report_pause
from kapy.contract.classes import template_refs
from kapy.contract.external import External
from kapy.contract.ownership import claim, ownership_patch
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, NotYet, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.field_errors import aggregate
from kapy.kube.meta import owner_reference
from kapy.kube.names import GroupKind, split_api_version
from kapy.topology.discovery import VariableDiscovery, status_variables

_REFS = ConditionType.REF_VERSIONS_UP_TO_DATE
_VARIABLES = ConditionType.VARIABLES_READY


class UnusableTemplate(KapyError):
    """Templates of a class cannot be read or owned."""


class DiscoveryFailed(KapyError):
    """An extension did not return its variables, or returned invalid ones."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the ClusterClass reconciler.

    discovery: gets the variables of extensions; None if the feature gate RuntimeSDK is off.
    """

    client: Client
    external: External
    classes: Informer[Document]
    clock: Clock
    discovery: VariableDiscovery | None = None


class Outdated(NamedTuple):
    """A reference to a version that is not the newest one of its kind."""

    kind: str
    name: str
    version: str
    newest: str


@dataclass(slots=True)
class ClassScope:
    """The state of one reconcile of a ClusterClass.

    outdated: references to old versions. unreadable: the error because of which templates cannot be
    read or owned. undiscovered: the error because of which the variables are not known.
    """

    dependencies: Dependencies
    draft: Draft[ClusterClass]
    now: datetime
    outdated: list[Outdated] = field(default_factory=list)
    unreadable: KapyError | None = None
    undiscovered: KapyError | None = None

    @property
    def cluster_class(self) -> ClusterClass:
        return self.draft.object


async def _reconcile_templates(scope: ClassScope) -> Result:
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


async def _reconcile_variables(scope: ClassScope) -> Result:
    """Collect the definitions; the former ones stay if some are unknown."""
    cluster_class = scope.cluster_class
    try:
        discovered = await _discover(scope.dependencies.discovery, cluster_class)
        variables = status_variables(cluster_class.spec.variables, discovered)
        cluster_class.status.variables = variables
        if conflicts := [
            status_variable.name
            for status_variable in variables
            if status_variable.definitions_conflict
        ]:
            names = ",".join(conflicts)
            raise DiscoveryFailed(f"the following variables have conflicting schemas: {names}")
    except KapyError as error:
        scope.undiscovered = DiscoveryFailed(f"VariableDiscovery failed: {error}")
        raise DiscoveryFailed(
            f"failed to discover variables for ClusterClass {cluster_class.metadata.name}: {error}"
        ) from error
    return DONE


async def _discover(
    discovery: VariableDiscovery | None, cluster_class: ClusterClass
) -> Mapping[str, Sequence[ClusterClassVariable]]:
    """Return the variables of extensions, by the name of their patch. Raises DiscoveryFailed."""
    if discovery is None:
        return {}
    result: dict[str, Sequence[ClusterClassVariable]] = {}
    problems = []
    for patch in cluster_class.spec.patches:
        external = patch.external
        if external is None or not external.discover_variables_extension:
            continue
        try:
            variables = await discovery.discover_variables(cluster_class, external)
        except KapyError as error:
            problems.append(f"failed to call DiscoverVariables for patch {patch.name}: {error}")
            continue
        if errors := list(variable_errors(variables, f"{patch.name}.variables")):
            problems.append(aggregate(errors))
        result[patch.name] = variables
    if problems:
        raise DiscoveryFailed(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return result


class ClusterClassReconciler(Reconciler[ClusterClass, ClassScope]):
    """Reconciles ClusterClasses in phases: the ownership of their templates, and their
    variables.
    """

    normal = (_reconcile_templates, _reconcile_variables)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(ClusterClass, dependencies.classes, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ClusterClass]) -> ClassScope:
        return ClassScope(self.dependencies, draft, self.dependencies.clock())

    def pause(self, scope: ClassScope) -> bool:
        return report_pause(scope.cluster_class, None, scope.now)

    def set_status(self, scope: ClassScope) -> Result:
        cluster_class = scope.cluster_class
        set_condition(cluster_class, paused_condition(cluster_class, None), scope.now)
        if not cluster_class.deleting:
            _update_status(scope)
        return DONE


def _update_status(scope: ClassScope) -> None:
    """Write the state of templates and variables to the status."""
    legacy = v1beta1.conditions_of(scope.cluster_class)
    for condition, old in (_references(scope), _variables(scope)):
        set_condition(scope.cluster_class, condition, scope.now)
        v1beta1.set_condition(legacy, old, scope.now)


def _references(scope: ClassScope) -> tuple[Condition, V1Beta1Condition]:
    type_ = V1Beta1Type.REF_VERSIONS_UP_TO_DATE
    if scope.unreadable is not None:
        message = str(scope.unreadable)
        return (
            unknown(_REFS, Reason.INTERNAL_ERROR, message),
            v1beta1.unknown(type_, V1Beta1Reason.INTERNAL_ERROR, message),
        )
    if not scope.outdated:
        return true(_REFS, Reason.REF_VERSIONS_UP_TO_DATE), v1beta1.true(type_)
    lines = [
        f"* {outdated.kind} {outdated.name}: current: {outdated.version}, latest: {outdated.newest}"
        for outdated in scope.outdated
    ]
    message = "\n".join(("The following templateRefs are not using the latest apiVersion:", *lines))
    reason = V1Beta1Reason.OUTDATED_REF_VERSIONS
    return (
        false(_REFS, Reason.REF_VERSIONS_NOT_UP_TO_DATE, message),
        v1beta1.false(type_, reason, v1beta1.WARNING, message),
    )


def _variables(scope: ClassScope) -> tuple[Condition, V1Beta1Condition]:
    type_ = V1Beta1Type.VARIABLES_RECONCILED
    if scope.undiscovered is None:
        return true(_VARIABLES, Reason.VARIABLES_READY), v1beta1.true(type_)
    message = str(scope.undiscovered)
    reason = V1Beta1Reason.VARIABLE_DISCOVERY_FAILED
    return (
        false(_VARIABLES, Reason.VARIABLE_DISCOVERY_FAILED, message),
        v1beta1.false(type_, reason, v1beta1.ERROR, message),
    )
