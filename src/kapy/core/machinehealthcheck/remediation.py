"""Requests the remediation of unhealthy Machines: by their owners, or by an external remediation.

The conditions of a Machine tell its health, and the requested remediation. A request for external
remediation is created from a template for each unhealthy Machine, and deleted when the Machine is
healthy again. It has the name of its Machine, and is owned by it (upstream's external remediation
proposal).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.unhealthy_conditions import MachineHealthCheckRemediationTemplateReference
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import TRUE, false, get, true
from kapy.contract.errors import NotServed
from kapy.contract.resolve import crd_name
from kapy.contract.templates import SUFFIX, clone_template
from kapy.core.machinehealthcheck.checks import Healthy, Target, Undecided, Unhealthy, Verdict
from kapy.core.machinehealthcheck.scope import HealthScope
from kapy.engine.cache import Informer
from kapy.engine.controller import Mapper
from kapy.engine.draft import Draft
from kapy.engine.result import NotYet
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import CRDS, Resource, split_api_version

_SUCCEEDED: Final = ConditionType.HEALTH_CHECK_SUCCEEDED
_OWNER_REMEDIATED: Final = ConditionType.OWNER_REMEDIATED
_EXTERNALLY_REMEDIATED: Final = ConditionType.EXTERNALLY_REMEDIATED


class Marks(NamedTuple):
    """Conditions to write, including those of v1beta1."""

    conditions: Sequence[Condition] = ()
    legacy: Sequence[V1Beta1Condition] = ()


_HEALTHY: Final = Marks(
    (true(_SUCCEEDED, Reason.HEALTH_CHECK_SUCCEEDED),),
    (v1beta1.true(V1Beta1Type.HEALTH_CHECK_SUCCEEDED),),
)

_WAITING: Final = Marks((false(_EXTERNALLY_REMEDIATED, Reason.WAITING_FOR_REMEDIATION),))
_NOT_CREATED: Final = Marks(
    (false(_EXTERNALLY_REMEDIATED, Reason.REMEDIATION_REQUEST_CREATION_FAILED, LOOK_AT_LOGS),)
)
_OUR_FAILURES: Final = (
    Reason.REMEDIATION_REQUEST_CREATION_FAILED,
    Reason.REMEDIATION_TEMPLATE_NOT_FOUND,
)


def health_marks(verdict: Verdict) -> Marks:
    """Return the health conditions; none while the health is unknown."""
    match verdict:
        case Undecided():
            return Marks()
        case Healthy():
            return _HEALTHY
        case Unhealthy(reason, message, legacy_reason, legacy_message):
            legacy = v1beta1.false(
                V1Beta1Type.HEALTH_CHECK_SUCCEEDED, legacy_reason, v1beta1.WARNING, legacy_message
            )
            return Marks((false(_SUCCEEDED, reason, message),), (legacy,))


def owner_marks(machine: Machine) -> Marks:
    """Return the request that the owner replaces the Machine. It is set once until it is fulfilled;
    the owner reports the progress.
    """
    if machine.deleting:
        return Marks()
    conditions, legacy = list[Condition](), list[V1Beta1Condition]()
    condition = get(machine.status.conditions, _OWNER_REMEDIATED)
    if condition is None or condition.status == TRUE:
        reason = Reason.WAITING_FOR_REMEDIATION
        conditions.append(false(_OWNER_REMEDIATED, reason, "Waiting for remediation"))
    old = v1beta1.get(_legacy_of(machine), V1Beta1Type.OWNER_REMEDIATED)
    if old is None or old.status == TRUE:
        reason = V1Beta1Reason.WAITING_FOR_REMEDIATION
        legacy.append(v1beta1.false(V1Beta1Type.OWNER_REMEDIATED, reason, v1beta1.WARNING))
    return Marks(conditions, legacy)


async def mark(scope: HealthScope, target: Target, *marks: Marks) -> bool:
    """Write missing conditions; return True if there were any. A deleted Machine needs none."""
    if all(_is_marked(target.machine, element) for element in marks):
        return False
    draft = Draft(scope.dependencies.client, Machine, target.document)
    for entry in marks:
        for condition in entry.conditions:
            set_condition(draft.object, condition, scope.now)
        for legacy in entry.legacy:
            v1beta1.set_condition(v1beta1.conditions_of(draft.object), legacy, scope.now)
    try:
        return await draft.save()
    except NotFound:
        return False


def _is_marked(machine: Machine, marks: Marks) -> bool:
    """Return whether the Machine has the conditions for its current generation."""
    status, generation = machine.status, machine.metadata.generation or None
    for wanted in marks.conditions:
        condition = get(status.conditions, wanted.type)
        if (
            condition is None
            or condition.observed_generation != generation
            or not _equal(condition, wanted)
        ):
            return False
    for old in marks.legacy:
        present = v1beta1.get(_legacy_of(machine), old.type)
        if present is None or present.severity != old.severity or not _equal(present, old):
            return False
    return True


def _equal(left: Condition | V1Beta1Condition, right: Condition | V1Beta1Condition) -> bool:
    return (
        left.status == right.status
        and left.reason == right.reason
        and left.message == right.message
    )


def _legacy_of(machine: Machine) -> Sequence[V1Beta1Condition]:
    """Return the v1beta1 conditions of a shared Machine, which must not be changed."""
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return ()
    return deprecated.v1beta1.conditions


@dataclass(frozen=True, slots=True)
class RemediationRequests:
    """The requests of one MachineHealthCheck.

    informer: None if their kind is not served. template: None if it does not exist.
    """

    scope: HealthScope
    informer: Informer[Document] | None
    template: Document | None

    async def create(self, target: Target) -> tuple[Marks, KapyError | None]:
        """Create a request for an unhealthy Machine, unless there is one; return the conditions for
        the Machine and the error to retry.
        """
        if self._existing_request(target) is not None:
            return _filed_marks(target), None
        if self.informer is None or self.template is None:
            return self._without_template(), None  # its creation enqueues the health check
        request = clone_template(
            self.template,
            name=target.machine.metadata.name,
            namespace=self.scope.namespace,
            cluster_name=target.machine.spec.cluster_name,
            owner=owner_reference(target.machine),
        )
        try:
            await self.scope.dependencies.client.create(self.informer.resource, request)
        except AlreadyExists:
            return _filed_marks(target), None
        except KapyError as error:
            reason = V1Beta1Reason.EXTERNAL_REMEDIATION_REQUEST_CREATION_FAILED
            of = V1Beta1Type.EXTERNAL_REMEDIATION_REQUEST_AVAILABLE
            _report(self.scope, v1beta1.false(of, reason, v1beta1.ERROR, str(error)))
            return _NOT_CREATED, error
        return _WAITING, None

    async def delete_request(self, target: Target) -> None:
        """Delete the request for a Machine that is healthy."""
        request = self._existing_request(target)
        if request is None or self.informer is None or request["metadata"].get("deletionTimestamp"):
            return
        uid = request["metadata"]["uid"]
        try:
            await self.scope.dependencies.client.delete(
                self.informer.resource, Key.of(request), uid=uid
            )
        except NotFound:
            return

    def _existing_request(self, target: Target) -> Document | None:
        return None if self.informer is None else self.informer.raw(Key.of(target.document))

    def _without_template(self) -> Marks:
        reference = self.scope.check.spec.remediation.template_ref
        assert reference is not None
        name = f"{reference.kind} {self.scope.namespace}/{reference.name}"
        message = f"Error retrieving remediation template {name}"
        return Marks(
            (false(_EXTERNALLY_REMEDIATED, Reason.REMEDIATION_TEMPLATE_NOT_FOUND, message),)
        )


def _filed_marks(target: Target) -> Marks:
    """Return the conditions for an existing request. Conditions that its controller set are kept,
    unless this controller was interrupted before setting any.
    """
    condition = get(target.machine.status.conditions, _EXTERNALLY_REMEDIATED)
    return _WAITING if condition is None or condition.reason in _OUR_FAILURES else Marks()


def requests_of(scope: HealthScope) -> RemediationRequests | None:
    """Return the check's requests; None if owners remediate.

    A missing template is reported in the check's v1beta1 conditions. Raises NotYet.
    """
    reference = scope.check.spec.remediation.template_ref
    if reference is None:
        return None
    dependencies, template, requests = scope.dependencies, None, None
    of = V1Beta1Type.EXTERNAL_REMEDIATION_TEMPLATE_AVAILABLE
    try:
        kind = reference.kind.removesuffix(SUFFIX)
        requests = _watch(scope, reference.api_version, kind, dependencies.request_keys)
        template = _template(scope, reference)
        legacy = v1beta1.conditions_of(scope.check)
        for removal in (of, V1Beta1Type.EXTERNAL_REMEDIATION_REQUEST_AVAILABLE):
            v1beta1.delete_condition(legacy, removal)
    except (NotServed, NotFound) as error:
        reason = V1Beta1Reason.EXTERNAL_REMEDIATION_TEMPLATE_NOT_FOUND
        _report(scope, v1beta1.false(of, reason, v1beta1.ERROR, str(error)))
    return RemediationRequests(scope, requests, template)


def _template(
    scope: HealthScope, reference: MachineHealthCheckRemediationTemplateReference
) -> Document:
    keys = scope.dependencies.template_keys
    templates = _watch(scope, reference.api_version, reference.kind, keys)
    result = templates.raw(Key(scope.namespace, reference.name))
    if result is None:
        name = f"{scope.namespace}/{reference.name}"
        raise NotFound(f"{templates.resource.group_resource} {name} not found")
    return result


def _watch(scope: HealthScope, api_version: str, kind: str, keys: Mapper) -> Informer[Document]:
    """Return the informer of a kind, whose changes enqueue the checks. Raises NotServed, NotYet."""
    dependencies = scope.dependencies
    informer = dependencies.cache.informer(_resource(scope, api_version, kind))
    dependencies.controller.watch(informer, keys)
    if not informer.is_synced:
        raise NotYet(f"the {informer.resource.plural} are not read yet")
    return informer


def _resource(scope: HealthScope, api_version: str, kind: str) -> Resource:
    """Return the resource of a kind: remediation has no contract, so the given version is used."""
    group, version = split_api_version(api_version)
    name = crd_name(group, kind)
    crd = scope.dependencies.cache.informer(CRDS).raw(Key("", name))
    if crd is None:
        raise NotServed(f'{CRDS.group_resource} "{name}" not found')
    spec = crd["spec"]
    namespaced = spec["scope"] == "Namespaced"
    return Resource(group, version, spec["names"]["plural"], kind, namespaced=namespaced)


def _report(scope: HealthScope, legacy: V1Beta1Condition) -> None:
    v1beta1.set_condition(v1beta1.conditions_of(scope.check), legacy, scope.now)
