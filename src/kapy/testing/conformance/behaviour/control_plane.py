"""Checks that only control plane providers have: versions and Machines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, Final

from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Version
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.kube.version import InvalidVersion, compare, parse_tolerant
from kapy.testing.conformance.behaviour import cluster_secrets, every_part, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.core_controllers import DOMAINS
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes

PART: Final = "control-plane"
_MACHINES: Final = Machine.RESOURCE
_NONE: Final = "it makes no Machines"
_SEVERAL: Final = 3
_SECONDS: Final = 17
_MARK: Final = "conformance.cluster.x-k8s.io/mark"


async def endpoint_of_others(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a control plane without an endpoint of its own waits for the Cluster's
    endpoint.
    """
    await setup.create_owned(fixture, data=False)
    await fixture.settle()
    result = await fixture.read() or {}
    if setup.value(fixture, result, "control_plane_endpoint"):
        raise NotApplicable("the provider makes the endpoint")
    evidence = setup.evidence_of_work(fixture, fixture.writes())
    # Certificates need no endpoint.
    if wrong := [write for write in evidence if write.plural != SECRETS.plural]:
        yield fixture.finding(
            "spec.controlPlaneEndpoint",
            f"neither it nor its Cluster has an endpoint, and yet: {quote_writes(wrong)}",
            "exit until the Cluster's spec.controlPlaneEndpoint is set, and watch the Cluster",
        )


async def versions_order(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that `status.versions` lists versions from old to new during an upgrade, with
    replicas.
    """
    await setup.create_complete(fixture)
    wait = await setup.wait_until_done(fixture)
    wanted = setup.value(fixture, wait, "version")
    if wanted is None:
        raise NotApplicable("the version cannot be chosen")
    await fixture.patch({"spec": {"version": _next(wanted)}})
    await fixture.wait_for(lambda item: _runs(fixture, item) == _next(wanted))
    text = [
        value
        for state in fixture.states()
        if (value := (state.get("status") or {}).get("versions"))
    ]
    if not text:
        raise NotApplicable("there is no status.versions")
    for versions in text:
        if result := _disorder(versions, counted="replicas" in (wait.get("spec") or {})):
            remedy = "list each version that runs once, the oldest first, with how many run it"
            yield fixture.finding("status.versions", result, remedy)
            return


def _next(version: str) -> str:
    """Return the next patch release of a version."""
    parsed = parse_tolerant(version)
    return f"v{parsed.major}.{parsed.minor}.{parsed.patch + 1}"


def _runs(fixture: Fixture, document: Document) -> str | None:
    result: str | None = setup.value(fixture, document, "current_version")
    return result


def _disorder(versions: list[Any], *, counted: bool) -> str:
    try:
        parsed = [parse_tolerant(str(version.get("version"))) for version in versions]
    except (InvalidVersion, AttributeError) as error:
        return f"{versions}: {error}"
    if any(compare(version, other) >= 0 for version, other in pairwise(parsed)):
        return f"{[version['version'] for version in versions]} does not go from old to new"
    if counted and any("replicas" not in version for version in versions):
        return f"{versions} does not say how many machines each version has"
    return ""


async def machines_label(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that each Machine has the label of control plane Machines."""
    for machine in await _machines(fixture):
        labels = machine["metadata"].get("labels") or {}
        if labels.get(Label.CONTROL_PLANE) != "":
            text = labels.get(Label.CONTROL_PLANE)
            evidence = "it is not there" if text is None else f'it is "{text}"'
            remedy = "create the Machine with this label and an empty value"
            field = f"metadata.labels[{Label.CONTROL_PLANE}]"
            yield _of_machine(fixture, machine, field, evidence, remedy)


async def metadata_propagation(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that labels and annotations of the template are propagated to existing Machines."""
    machines = await _machines(fixture)
    marked = {"labels": {_MARK: "one"}, "annotations": {_MARK: "two"}}
    await fixture.patch(
        _nested_patch(ControlPlane.machine_metadata.path(fixture.kind.contract), marked)
    )
    for part in marked:
        missing = await _wait_for_machines(
            fixture, machines, lambda value, part=part: _MARK in (value["metadata"].get(part) or {})
        )
        for finding in _unchanged_findings(
            fixture, missing, f"metadata.{part}", "the same in the template"
        ):
            yield finding


async def machines_in_place(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that timeouts of the template are propagated to existing Machines without a rollout."""
    machines = await _machines(fixture)
    path = ControlPlane.node_drain_timeout.path(fixture.kind.contract)
    old = fixture.kind.contract is Version.V1BETA1
    await fixture.patch(_nested_patch(path, f"{_SECONDS}s" if old else _SECONDS))
    missing = await _wait_for_machines(
        fixture,
        machines,
        lambda value: (
            (value["spec"].get("deletion") or {}).get("nodeDrainTimeoutSeconds") == _SECONDS
        ),
    )
    field = "spec.deletion.nodeDrainTimeoutSeconds"
    for finding in _unchanged_findings(fixture, missing, field, path):
        yield finding


def _unchanged_findings(
    fixture: Fixture, missing: list[tuple[Document, bool]], field: str, source: str
) -> list[Finding]:
    remedy = "patch the Machines that are there; do not compare it when a rollout is decided about"
    return [
        _of_machine(
            fixture,
            machine,
            field,
            f"{source} was changed, and "
            + ("it did not follow" if there else "the Machine was replaced"),
            remedy,
        )
        for machine, there in missing
    ]


async def _wait_for_machines(
    fixture: Fixture, machines: list[Document], holds: Any
) -> list[tuple[Document, bool]]:
    """Wait for a state of each Machine; return the Machines that never reached it, and whether they
    exist.
    """
    result = []
    for machine in machines:
        name, uid = machine["metadata"]["name"], machine["metadata"]["uid"]
        came = await fixture.wait_for(holds, name, _MACHINES)
        if came is None or came["metadata"]["uid"] != uid or _is_leaving(came):
            there = await fixture.read(name, _MACHINES)
            result.append((machine, there is not None and not _is_leaving(there)))
    return result


def _is_leaving(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]


async def placement(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that Machines are spread over the failure domains that are for control planes."""
    if setup.value(fixture, fixture.kind.example, "replicas") is None:
        raise NotApplicable("the number of machines cannot be chosen")
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    await fixture.patch({"spec": {"replicas": _SEVERAL}})
    await fixture.wait_for(lambda value: setup.value(fixture, value, "status_replicas") == _SEVERAL)
    machines = _created_machines(fixture)
    if not machines:
        raise NotApplicable(_NONE)
    domains = [machine["spec"].get("failureDomain", "") for machine in machines]
    wanted = {domain.name for domain in DOMAINS if domain.control_plane}
    if set(domains) != wanted:
        text = ", ".join(domain or "(none)" for domain in domains)
        yield fixture.finding(
            "spec.failureDomain",
            f"{len(domains)} Machines are in {text}, and {' and '.join(sorted(wanted))} are for "
            "control planes",
            "put each new Machine into the domain with the fewest that is for control planes",
        )


async def min_ready_seconds(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that each Machine gets the condition UpToDate."""
    for machine in await _machines(fixture):
        name = machine["metadata"]["name"]
        if await fixture.wait_for(_is_judged, name, _MACHINES) is None:
            remedy = "set the condition UpToDate of each Machine each time that it is compared"
            yield _of_machine(
                fixture, machine, "status.conditions[UpToDate]", "there is none", remedy
            )


def _is_judged(machine: Document) -> bool:
    conditions = (machine.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "UpToDate" for condition in conditions)


async def _machines(fixture: Fixture) -> list[Document]:
    """Create a control plane, wait until it is initialized, and return its Machines.

    Raises NotApplicable if it has none.
    """
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    result = [
        await fixture.read(machine["metadata"]["name"], _MACHINES)
        for machine in _created_machines(fixture)
    ]
    there = [item for item in result if item is not None]
    if not there:
        raise NotApplicable(_NONE)
    return there


def _created_machines(fixture: Fixture) -> list[Document]:
    """Return the Machines in the state in which the provider created them."""
    return [
        write.after
        for write in fixture.writes()
        if write.created and write.plural == _MACHINES.plural and write.after is not None
    ]


def _nested_patch(path: str, value: Any) -> Document:
    """Return a patch that sets the field at a path."""
    first, _, rest = path.partition(".")
    return {first: _nested_patch(rest, value) if rest else value}


def _of_machine(
    fixture: Fixture, machine: Document, field: str, evidence: str, remedy: str
) -> Finding:
    return fixture.finding(field, evidence, remedy, machine["metadata"]["name"], _MACHINES.kind)


CHECKS: Final = (
    *every_part.checks(PART),
    *cluster_secrets.CHECKS,
    Check(f"{PART}/endpoint-of-others", endpoint_of_others),
    Check(f"{PART}/versions-order", versions_order),
    Check(f"{PART}/machines-label", machines_label),
    Check(f"{PART}/machines-in-place", machines_in_place),
    Check(f"{PART}/metadata-propagation", metadata_propagation),
    Check(f"{PART}/placement", placement),
    Check(f"{PART}/min-ready-seconds", min_ready_seconds),
)
