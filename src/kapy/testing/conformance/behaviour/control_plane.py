"""What control plane providers are asked for beyond what all kinds are: versions and machines."""

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
from kapy.testing.conformance.behaviour import cluster_secrets, every_part, stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.company import DOMAINS
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene, quoted

PART: Final = "control-plane"
_MACHINES: Final = Machine.RESOURCE
_NONE: Final = "it makes no Machines"
_SEVERAL: Final = 3
_SECONDS: Final = 17
_MARK: Final = "conformance.cluster.x-k8s.io/mark"


async def endpoint_of_others(scene: Scene) -> AsyncIterator[Finding]:
    """Nothing is made before somebody has made an endpoint."""
    await stage.owned(scene, data=False)
    await scene.quiet()
    found = await scene.read() or {}
    if stage.value(scene, found, "control_plane_endpoint"):
        raise NotApplicable("the provider makes the endpoint")
    made = stage.begun(scene, scene.writes())
    # Certificates need no endpoint.
    if wrong := [one for one in made if one.plural != SECRETS.plural]:
        yield scene.fault(
            "spec.controlPlaneEndpoint",
            f"neither it nor its Cluster has an endpoint, and yet: {quoted(wrong)}",
            "exit until the Cluster's spec.controlPlaneEndpoint is set, and watch the Cluster",
        )


async def versions_order(scene: Scene) -> AsyncIterator[Finding]:
    """`status.versions` while the version changes: from old to new, with their replicas."""
    await stage.whole(scene)
    found = await stage.done(scene)
    wanted = stage.value(scene, found, "version")
    if wanted is None:
        raise NotApplicable("the version cannot be chosen")
    await scene.patch({"spec": {"version": _next(wanted)}})
    await scene.reached(lambda one: _runs(scene, one) == _next(wanted))
    told = [one for state in scene.states() if (one := (state.get("status") or {}).get("versions"))]
    if not told:
        raise NotApplicable("there is no status.versions")
    for versions in told:
        if said := _disorder(versions, counted="replicas" in (found.get("spec") or {})):
            mend = "list each version that runs once, the oldest first, with how many run it"
            yield scene.fault("status.versions", said, mend)
            return


def _next(version: str) -> str:
    """The next patch release."""
    parsed = parse_tolerant(version)
    return f"v{parsed.major}.{parsed.minor}.{parsed.patch + 1}"


def _runs(scene: Scene, document: Document) -> str | None:
    found: str | None = stage.value(scene, document, "current_version")
    return found


def _disorder(versions: list[Any], *, counted: bool) -> str:
    try:
        parsed = [parse_tolerant(str(one.get("version"))) for one in versions]
    except (InvalidVersion, AttributeError) as error:
        return f"{versions}: {error}"
    if any(compare(one, other) >= 0 for one, other in pairwise(parsed)):
        return f"{[one['version'] for one in versions]} does not go from old to new"
    if counted and any("replicas" not in one for one in versions):
        return f"{versions} does not say how many machines each version has"
    return ""


async def machines_label(scene: Scene) -> AsyncIterator[Finding]:
    """Each Machine says that it is one of a control plane."""
    for machine in await _machines(scene):
        labels = machine["metadata"].get("labels") or {}
        if labels.get(Label.CONTROL_PLANE) != "":
            told = labels.get(Label.CONTROL_PLANE)
            evidence = "it is not there" if told is None else f'it is "{told}"'
            mend = "create the Machine with this label and an empty value"
            field = f"metadata.labels[{Label.CONTROL_PLANE}]"
            yield _of_machine(scene, machine, field, evidence, mend)


async def metadata_propagation(scene: Scene) -> AsyncIterator[Finding]:
    """Labels and annotations of the template."""
    machines = await _machines(scene)
    marked = {"labels": {_MARK: "one"}, "annotations": {_MARK: "two"}}
    await scene.patch(_nested(ControlPlane.machine_metadata.path(scene.kind.contract), marked))
    for part in marked:
        missing = await _waited(
            scene, machines, lambda one, part=part: _MARK in (one["metadata"].get(part) or {})
        )
        for finding in _unchanged(scene, missing, f"metadata.{part}", "the same in the template"):
            yield finding


async def machines_in_place(scene: Scene) -> AsyncIterator[Finding]:
    """The timeouts of the template."""
    machines = await _machines(scene)
    path = ControlPlane.node_drain_timeout.path(scene.kind.contract)
    old = scene.kind.contract is Version.V1BETA1
    await scene.patch(_nested(path, f"{_SECONDS}s" if old else _SECONDS))
    missing = await _waited(
        scene,
        machines,
        lambda one: (one["spec"].get("deletion") or {}).get("nodeDrainTimeoutSeconds") == _SECONDS,
    )
    field = "spec.deletion.nodeDrainTimeoutSeconds"
    for finding in _unchanged(scene, missing, field, path):
        yield finding


def _unchanged(
    scene: Scene, missing: list[tuple[Document, bool]], field: str, source: str
) -> list[Finding]:
    mend = "patch the Machines that are there; do not compare it when a rollout is decided about"
    return [
        _of_machine(
            scene,
            machine,
            field,
            f"{source} was changed, and "
            + ("it did not follow" if there else "the Machine was replaced"),
            mend,
        )
        for machine, there in missing
    ]


async def _waited(
    scene: Scene, machines: list[Document], holds: Any
) -> list[tuple[Document, bool]]:
    """The Machines that never became so, and whether they are still there."""
    found = []
    for machine in machines:
        name, uid = machine["metadata"]["name"], machine["metadata"]["uid"]
        came = await scene.reached(holds, name, _MACHINES)
        if came is None or came["metadata"]["uid"] != uid or _is_leaving(came):
            there = await scene.read(name, _MACHINES)
            found.append((machine, there is not None and not _is_leaving(there)))
    return found


def _is_leaving(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]


async def placement(scene: Scene) -> AsyncIterator[Finding]:
    """Three machines in the two of three failure domains that are for control planes."""
    if stage.value(scene, scene.kind.example, "replicas") is None:
        raise NotApplicable("the number of machines cannot be chosen")
    await stage.whole(scene)
    await stage.done(scene)
    await scene.patch({"spec": {"replicas": _SEVERAL}})
    await scene.reached(lambda one: stage.value(scene, one, "status_replicas") == _SEVERAL)
    machines = _made(scene)
    if not machines:
        raise NotApplicable(_NONE)
    domains = [one["spec"].get("failureDomain", "") for one in machines]
    wanted = {one.name for one in DOMAINS if one.control_plane}
    if set(domains) != wanted:
        told = ", ".join(domain or "(none)" for domain in domains)
        yield scene.fault(
            "spec.failureDomain",
            f"{len(domains)} Machines are in {told}, and {' and '.join(sorted(wanted))} are for "
            "control planes",
            "put each new Machine into the domain with the fewest that is for control planes",
        )


async def min_ready_seconds(scene: Scene) -> AsyncIterator[Finding]:
    """The condition UpToDate of each Machine."""
    for machine in await _machines(scene):
        name = machine["metadata"]["name"]
        if await scene.reached(_is_judged, name, _MACHINES) is None:
            mend = "set the condition UpToDate of each Machine each time that it is compared"
            yield _of_machine(scene, machine, "status.conditions[UpToDate]", "there is none", mend)


def _is_judged(machine: Document) -> bool:
    conditions = (machine.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "UpToDate" for one in conditions)


async def _machines(scene: Scene) -> list[Document]:
    """The Machines of a control plane that is initialized.

    Raises NotApplicable where it has none.
    """
    await stage.whole(scene)
    await stage.done(scene)
    found = [await scene.read(one["metadata"]["name"], _MACHINES) for one in _made(scene)]
    there = [one for one in found if one is not None]
    if not there:
        raise NotApplicable(_NONE)
    return there


def _made(scene: Scene) -> list[Document]:
    """The Machines that the provider made, as they were then."""
    return [
        one.after
        for one in scene.writes()
        if one.created and one.plural == _MACHINES.plural and one.after is not None
    ]


def _nested(path: str, value: Any) -> Document:
    """A patch that sets the field at a path."""
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}


def _of_machine(scene: Scene, machine: Document, field: str, evidence: str, mend: str) -> Finding:
    return scene.fault(field, evidence, mend, machine["metadata"]["name"], _MACHINES.kind)


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
