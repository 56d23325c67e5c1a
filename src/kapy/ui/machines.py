"""Machines by failure domain and version, rollouts, certificates. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kapy.clusterctl.describe.waiting import wait_of
from kapy.kube import Document
from kapy.ui.documents import count_at, is_true, moment_of, name_of, part, text_at
from kapy.ui.objects import ClusterObjects

CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"
DEPLOYMENT_LABEL: Final = "cluster.x-k8s.io/deployment-name"
MOST_VERSIONS: Final = 12
MOST_DOMAINS: Final = 50
"""Columns and rows of the grid: providers and users choose their names, and it has each pair."""
SOON: Final = timedelta(days=30)
"""Certificates that end within this time are marked."""
MAX_REASON: Final = 300
"""Characters of the reason in a cell."""


class MachineCell(NamedTuple):
    """One machine in the grid."""

    name: str
    is_control_plane: bool
    mood: str
    why: str


class MachineGrid(NamedTuple):
    """Machines by failure domain (rows) and version (columns)."""

    versions: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Sequence[MachineCell]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The machines of one owner. old: not up to date. surge: more than desired."""

    kind: str
    name: str
    version: str
    old_versions: Sequence[str]
    desired: int
    up_to_date: int
    old: int
    surge: int
    unavailable: int
    is_moving: bool


class Certificate(NamedTuple):
    """The certificate of a machine that ends first."""

    ends: datetime
    machine: str
    mood: str


def grid_of(machines: Sequence[Document]) -> MachineGrid:
    """Return the grid of machines."""
    columns = _headings(map(_version, machines), MOST_VERSIONS, "other versions")
    rows = _headings(map(_domain, machines), MOST_DOMAINS, "other failure domains")
    cells: dict[tuple[str, str], list[MachineCell]] = defaultdict(list)
    for machine in machines:
        cells[rows[_domain(machine)], columns[_version(machine)]].append(_cell(machine))
    versions, domains = (list(dict.fromkeys(values.values())) for values in (columns, rows))
    return MachineGrid(
        versions,
        [(domain, [cells[domain, version] for version in versions]) for domain in domains],
    )


def _headings(values: Iterable[str], most: int, rest: str) -> dict[str, str]:
    """Return the heading of each value, in order: the value itself, or `rest` where there are too
    many.
    """
    counts = Counter(values)
    usual = {name for name, _ in counts.most_common(most - 1)} if len(counts) > most else {*counts}
    ordered = sorted(counts, key=lambda name: (name not in usual, name))
    return {name: name if name in usual else rest for name in ordered}


def rollouts_of(objects: ClusterObjects) -> list[Rollout]:
    """Return the rollouts of the control plane and of all MachineDeployments."""
    versions: dict[str, set[str]] = defaultdict(set)
    for machine in objects.machines:
        deployment = text_at(machine, "metadata", "labels", DEPLOYMENT_LABEL)
        versions["" if _is_control_plane(machine) else deployment].add(_version(machine))
    owners = [(deployment, versions[name_of(deployment)]) for deployment in objects.deployments]
    if objects.control_plane is not None:
        owners.insert(0, (objects.control_plane, versions[""]))
    scaled = [owner for owner in owners if part(owner[0], "status").get("replicas") is not None]
    return [_rollout(*entry) for entry in scaled]


def _rollout(owner: Document, versions: set[str]) -> Rollout:
    desired, current = count_at(owner, "spec", "replicas"), count_at(owner, "status", "replicas")
    names = ("upToDateReplicas", "availableReplicas")
    up_to_date, available = (count_at(owner, "status", name) for name in names)
    version = version_of(owner) or version_of(part(owner, "spec", "template"))
    moving = ("RollingOut", "ScalingUp", "ScalingDown")
    return Rollout(
        kind=owner["kind"],
        name=name_of(owner),
        version=version,
        old_versions=sorted(versions - {version}),
        desired=desired,
        up_to_date=up_to_date,
        old=max(current - up_to_date, 0),
        surge=max(current - desired, 0),
        unavailable=max(desired - available, 0),
        is_moving=any(is_true(owner, type_) for type_ in moving),
    )


def certificates_of(machines: Sequence[Document], now: datetime) -> list[Certificate]:
    """Return the ends of certificates, the first one first."""
    ends = (
        (moment_of(text_at(item, "status", "certificatesExpiryDate")), item) for item in machines
    )
    return sorted(Certificate(end, name_of(item), _mood(end, now)) for end, item in ends if end)


def _mood(ends: datetime, now: datetime) -> str:
    return "bad" if ends <= now else "unknown" if ends - now <= SOON else "good"


def _cell(machine: Document) -> MachineCell:
    wait = wait_of(machine)
    mood = "good" if wait is None and is_true(machine, "Ready") else "bad"
    has_node = text_at(machine, "status", "nodeRef", "name")
    if machine["metadata"].get("deletionTimestamp") or not has_node:
        mood = "busy"
    why = "" if wait is None else wait[1][:MAX_REASON]
    return MachineCell(name_of(machine), _is_control_plane(machine), mood, why)


def _is_control_plane(machine: Document) -> bool:
    return CONTROL_PLANE_LABEL in part(machine, "metadata", "labels")


def _domain(machine: Document) -> str:
    domains = (text_at(machine, part, "failureDomain") for part in ("status", "spec"))
    return next(filter(None, domains), "no failure domain")


def _version(machine: Document) -> str:
    return version_of(machine) or "no version"


def version_of(machine: Document) -> str:
    """Return the version in the spec of a Machine, a template of Machines or a control plane."""
    return text_at(machine, "spec", "version")
