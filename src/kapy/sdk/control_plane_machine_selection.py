"""Select the Machine of a control plane that is deleted next, and the next failure domain (pure
functions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random

from kapy.api.cluster import Cluster
from kapy.api.embedded import StatusVersion
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.contract.failure_domains import pick_fewest, pick_most
from kapy.kube.version import InvalidVersion, parse_tolerant


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
        [machine for machine in outdated if is_marked_for_deletion(machine)]
        or [machine for machine in machines if is_marked_for_deletion(machine)]
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


def is_marked_for_deletion(machine: Machine) -> bool:
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
