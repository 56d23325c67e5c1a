"""Selection of Machines in the rollout of a control plane: outdated Machines, the next Machine to
delete, and the failure domain of the next Machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.embedded import StatusVersion
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.external import External
from kapy.contract.failure_domains import pick_fewest, pick_most
from kapy.contract.fields import View
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Found, Unreadable
from kapy.engine.correlation import Lru
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import REMEMBERED
from kapy.kube import Document
from kapy.kube.apply.no_op import is_no_op
from kapy.kube.version import InvalidVersion, parse_tolerant
from kapy.sdk.control_plane_kinds import MachineControlPlaneContractObject
from kapy.sdk.machine_based_control_plane import MachineControlPlaneContext


class RolloutChecks:
    """Compares Machines with what would be created now. manager: the field manager of created
    objects.
    """

    def __init__(self, runtime: Runtime, external: External, manager: str) -> None:
        self._client = runtime.client
        self._external = external
        self._manager = manager
        # By uid of a configuration: resourceVersion, wanted spec, and whether both agree.
        self._current: Lru[tuple[str, Document, bool]] = Lru(REMEMBERED)

    async def infra(self, machine: Machine) -> Document | None:
        """Return the Machine's infrastructure, None if it does not exist. Raises its read error."""
        return await self._read(machine, machine.spec.infrastructure_ref, InfraMachine)

    async def config(self, machine: Machine) -> Document | None:
        """Return the Machine's bootstrap configuration, None if it does not exist. Raises its read
        error.
        """
        reference = machine.spec.bootstrap.config_ref
        return None if reference is None else await self._read(machine, reference, BootstrapConfig)

    async def outdated_reasons(
        self,
        plane: MachineControlPlaneContractObject,
        context: MachineControlPlaneContext[Any],
        machine: Machine,
        wanted: Sequence[Document],
        now: datetime,
    ) -> list[str]:
        """Return why a Machine has to be replaced. wanted: the configurations that it may have."""
        messages = []
        if context.version and machine.spec.version != context.version:
            messages.append(f"Version {machine.spec.version}, {context.version} required")
        after = plane.spec.rollout.after
        if after is not None and creation_time(machine) < moment(after) <= now:
            messages.append("spec.rollout.after expired")
        infra = await self.infra(machine)
        template = plane.spec.machine_template.spec.infrastructure_ref
        if infra is not None and not is_cloned_from(template, infra):
            messages.append(f"{machine.spec.infrastructure_ref.kind} is not up-to-date")
        config = context.configs.get(machine.metadata.name)
        if config is not None and not await self._is_any_of(config, wanted):
            messages.append(f"{config['kind']} is not up-to-date")
        return messages

    async def _read(
        self, machine: Machine, reference: Reference, view: type[View]
    ) -> Document | None:
        result = await self._external.get(reference, machine.metadata.namespace, view)
        if isinstance(result, Unreadable):
            raise result.error
        return result.view.document if isinstance(result, Found) else None

    async def _is_any_of(self, config: Document, wanted: Sequence[Document]) -> bool:
        for item in wanted:
            if (item["apiVersion"], item["kind"]) != (config["apiVersion"], config["kind"]):
                continue
            if await self._is_spec(config, item.get("spec") or {}):
                return True
        return False

    async def _is_spec(self, config: Document, spec: Document) -> bool:
        """Return whether applying this spec would leave the configuration unchanged.

        Usually the object itself shows it. Otherwise a dry run finds out, because the server may
        store a value in another form.
        """
        metadata, manager = config["metadata"], self._manager
        intent = {**config, "spec": spec, "metadata": {"name": metadata["name"]}}
        intent = {key: value for key, value in intent.items() if key != "status"}
        if is_no_op(_without_metadata(config), intent, manager):
            return True
        uid, version = metadata["uid"], metadata["resourceVersion"]
        entry = self._current.get(uid)
        if entry is not None and entry[:2] == (version, spec):
            return entry[2]
        owners = metadata.get("ownerReferences") or []
        mine = [owner for owner in owners if not owner.get("controller")]
        named = {"name": metadata["name"], "namespace": metadata["namespace"], "uid": uid}
        answer = await self._client.apply(
            await self._external.resource_of(config),
            {**intent, "metadata": {**named, "ownerReferences": mine}},
            field_manager=manager,
            dry_run=True,
        )
        same = bool(answer.get("spec") == config.get("spec"))
        self._current.put(uid, (version, spec, same))
        return same


def is_cloned_from(template: Reference, infra: Document) -> bool:
    """Return whether the infrastructure was cloned from this template, or from none."""
    annotations = infra["metadata"].get("annotations") or {}
    name = annotations.get(Annotation.CLONED_FROM_NAME)
    group_kind = annotations.get(Annotation.CLONED_FROM_GROUP_KIND)
    if name is None or group_kind is None:
        return True
    return bool(name == template.name and group_kind == f"{template.kind}.{template.api_group}")


def _without_metadata(config: Document) -> Document:
    """Return the document without metadata in its managed fields."""
    managed = [
        {
            **field,
            "fieldsV1": {k: v for k, v in (field.get("fieldsV1") or {}).items() if k == "f:spec"},
        }
        for field in config["metadata"].get("managedFields") or ()
    ]
    return {**config, "metadata": {**config["metadata"], "managedFields": managed}}


def select_for_deletion(
    machines: Sequence[Machine],
    outdated: Sequence[Machine],
    broken: Sequence[Machine],
    domains: Sequence[str],
) -> Machine | None:
    """Return the Machine that is deleted next. Pure.

    Candidates are the Machines that a user marked for deletion (only outdated ones if there are
    any), else outdated ones with broken components, else outdated ones, else all. Of these it is
    the oldest in a failure domain that no longer exists, else the oldest in the domain with the
    most Machines.
    """
    eligible = (
        [machine for machine in outdated if _is_marked_for_deletion(machine)]
        or [machine for machine in machines if _is_marked_for_deletion(machine)]
        or list(broken)
        or list(outdated)
        or machines
    )
    homeless = oldest(machine for machine in eligible if machine.spec.failure_domain not in domains)
    if homeless is not None:
        domain = homeless.spec.failure_domain
    else:
        domain = pick_most(
            domains,
            [machine.spec.failure_domain for machine in machines],
            [machine.spec.failure_domain for machine in eligible],
        )
    return oldest(machine for machine in eligible if machine.spec.failure_domain == domain)


def failure_domains(cluster: Cluster | None) -> list[str]:
    """Return the names of the failure domains for control plane Machines."""
    result = [] if cluster is None else cluster.status.failure_domains
    return [failure_domain.name for failure_domain in result if failure_domain.control_plane]


def next_failure_domain(
    domains: Sequence[str],
    machines: Sequence[Machine],
    outdated: Sequence[Machine],
    *,
    random: Random,
) -> str:
    """Return the failure domain of the next Machine: the one with the fewest Machines that stay,
    then with the fewest Machines; "" if there are none.
    """
    leaving = {machine.metadata.uid for machine in outdated}
    staying = [
        machine for machine in machines if not (machine.metadata.uid in leaving or machine.deleting)
    ]
    return pick_fewest(
        domains,
        [machine.spec.failure_domain for machine in machines],
        [machine.spec.failure_domain for machine in staying],
        random=random,
    )


def _is_marked_for_deletion(machine: Machine) -> bool:
    """Return whether a user requested that this Machine is deleted first."""
    return Annotation.DELETE_MACHINE in machine.metadata.annotations


def creation_time(machine: Machine) -> datetime:
    """Return the time at which the Machine was created."""
    return moment(machine.metadata.creation_timestamp or "1970-01-01T00:00:00Z")


def oldest(machines: Iterable[Machine]) -> Machine | None:
    """Return the Machine that was created first (names break ties)."""
    return min(
        machines, key=lambda machine: (creation_time(machine), machine.metadata.name), default=None
    )


def versions_of(machines: Sequence[Machine]) -> list[StatusVersion]:
    """Return the versions of the Machines, lowest first, with the number of Machines of each."""
    counted = Counter(
        machine.spec.version for machine in machines if _is_version(machine.spec.version)
    )
    ordered = sorted(counted, key=lambda text: (parse_tolerant(text), text))
    return [StatusVersion(version=version, replicas=counted[version]) for version in ordered]


def _is_version(text: str) -> bool:
    try:
        parse_tolerant(text)
    except InvalidVersion:
        return False
    return True
