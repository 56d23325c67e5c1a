"""Compares the template of existing Machines with the desired one.

Pure. Labels, annotations and fields that are propagated in place (timeouts, readiness gates,
taints, minReadySeconds) never cause a rollout. Of references only group, kind and name are
compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import MachineSpec, MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.kube.digits import parse_integer
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import WHOLE_NUMBER
from kapy.kube.meta import Object

AFTER_EXPIRED: Final = "MachineDeployment spec.rolloutAfter expired"


@dataclass(frozen=True, slots=True)
class Difference:
    """The result of the comparison of a template with the desired one.

    log_messages: the differences with the paths of fields, for the log. condition_messages: the
    differences for the condition `UpToDate` of a Machine. eligible_for_in_place_update: whether a
    Machine could be updated without being replaced.
    """

    log_messages: tuple[str, ...] = ()
    condition_messages: tuple[str, ...] = ()
    eligible_for_in_place_update: bool = False

    @property
    def up_to_date(self) -> bool:
        return not self.log_messages


def difference(current: MachineTemplateSpec, desired: MachineTemplateSpec) -> Difference:
    """Return the differences between `current` and `desired` that require new Machines."""
    have, want = current.spec, desired.spec
    result: list[tuple[str, str]] = []
    if have.version != want.version:
        result.append(
            (
                f"spec.version {have.version}, {want.version} required",
                f"Version {have.version}, {want.version} required",
            )
        )
    if have.bootstrap != want.bootstrap:
        result.append(_bootstrap(have, want))
    if have.infrastructure_ref != want.infrastructure_ref:
        mine, theirs = have.infrastructure_ref, want.infrastructure_ref
        result.append(_reference("spec.infrastructureRef", mine, theirs))
    if have.failure_domain != want.failure_domain:
        result.append(
            (
                f"spec.failureDomain {have.failure_domain}, {want.failure_domain} required",
                f"Failure domain {have.failure_domain}, {want.failure_domain} required",
            )
        )
    logs, conditions = tuple(entry[0] for entry in result), tuple(entry[1] for entry in result)
    return Difference(logs, conditions, bool(result))


def _bootstrap(have: MachineSpec, want: MachineSpec) -> tuple[str, str]:
    mine, theirs = have.bootstrap, want.bootstrap
    if mine.config_ref is not None:
        return _reference("spec.bootstrap.configRef", mine.config_ref, theirs.config_ref)
    names = [
        "nil" if bootstrap.data_secret_name is None else bootstrap.data_secret_name
        for bootstrap in (mine, theirs)
    ]
    text = f"spec.bootstrap.dataSecretName {names[0]}, {names[1]} required"
    return text, text


def _reference(
    path: str,
    have: ContractVersionedObjectReference,
    want: ContractVersionedObjectReference | None,
) -> tuple[str, str]:
    wanted = f"{want.kind} {want.name}" if want is not None else " "
    return (
        f"{path} {have.kind} {have.name}, {wanted} required",
        f"{have.kind.removesuffix('Template')} is not up-to-date",
    )


class BadRevision(KapyError):
    """The revision annotation of a MachineDeployment or MachineSet is not a number."""


def revision_of(owned: Object) -> int:
    """Return the revision of a MachineDeployment or MachineSet; 0 if it has none. Raises
    BadRevision.
    """
    text = owned.metadata.annotations.get(Annotation.REVISION, "0")
    number = parse_integer(text) if WHOLE_NUMBER.fullmatch(text) else None
    if number is None or abs(number) >= 1 << 63:
        raise BadRevision(
            f'annotation {Annotation.REVISION} of {type(owned).__name__} "{owned.metadata.name}" '
            f'is "{text[:40]}", which is no 64-bit number; remove the annotation'
        )
    return number


def rollout_after_expired(
    deployment: MachineDeployment, machine_set: MachineSet, now: datetime
) -> bool:
    """Report whether `spec.rollout.after` has passed and the MachineSet was created before it."""
    if deployment.spec.rollout.after is None:
        return False
    after = moment(deployment.spec.rollout.after)
    return after < now and creation_time(machine_set) < after


def creation_time(machine_set: MachineSet) -> datetime:
    """Return the time when the set was created, the year 1 if it has no creationTimestamp."""
    text = machine_set.metadata.creation_timestamp
    return moment(text) if text else moment("0001-01-01T00:00:00Z")
