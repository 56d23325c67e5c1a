"""Finds mutations with the small models and the simulation, each in a forked process.

A finder is `model:NAME`, or `SCENARIO` or `SCENARIO@FAULTS`, both with seed 0. `*` for the number
of a fault's point (`lost-reply@core:w*`) tries the fault at all points of that kind.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from kapy.testing.simulation import SCENARIOS, Baseline, parse_faults, run
from kapy.testing.simulation.campaign import baseline_of
from kapy.testing.simulation.forking import explore as explore_points
from kapy.testing.simulation.points import Point
from tests.models import control_plane, rollout
from tests.models.explorer import explore
from tests.models.test_control_plane import SMALL
from tests.models.test_rollout import CASES
from tests.mutations.catalogue import CATALOGUE
from tests.mutations.live import apply
from tests.mutations.mutation import Mutation

SEED: Final = 0
LIMIT: Final = 240
"""Seconds of CPU for one mutation; one that runs for ever is found, too."""

FINDERS: Final[Mapping[str, str]] = {
    "the etcd member of a starting Machine is removed as unknown": "model:control-plane",
    "an etcd member without a Machine stays": "model:control-plane",
    "quorum is half of the members": "model:control-plane",
    "a Machine's etcd member is removed before its Node is drained": "model:control-plane",
    "a Machine goes with its etcd member still in the cluster": "model:control-plane",
    "a rollout surges by one more": "model:control-plane",
    "a retry makes a control plane Machine under another name": (
        "scale-control-plane@lost-reply@control-plane:w*"
    ),
    "the control plane goes before its Machines are gone": "delete",
    "Machines that are still there do not count as surge": "model:rollout",
    "maxUnavailable is rounded up": "model:rollout",
    "maxSurge is rounded down": "model:rollout",
    "a rollout that may neither surge nor shrink stands still": "model:rollout",
    "clones of other MachineSets are taken for our own": "create",
    "a scale-down deletes Machines beyond those that are being deleted": (
        "scale-workers@crash-after@core:w*"
    ),
    "the surge is not added to the desired replicas": "model:rollout",
    "more Machines are missing than are": "model:rollout",
    "the new set grows beyond the desired replicas": "model:rollout",
    "the new set never grows": "model:rollout",
    "available Machines of the sets are counted as wanted": "model:rollout",
    "existing Machines are taken for wanted ones": "model:rollout",
    "one Machine less may be available": "model:rollout",
    "old sets are never shrunk by available Machines": "model:rollout",
    "an old set shrinks by one too many": "model:rollout",
    "the new set never begins": "model:rollout",
    "old sets stay": "model:rollout",
    "maxUnavailable counts although nothing may be unavailable": "model:rollout",
    "maxUnavailable and maxSurge are swapped": "model:rollout",
    "maxUnavailable is ignored": "model:rollout",
    "a joining member without a name is taken for a stranger": "model:control-plane",
    "the unstarted member of a lost Machine stays": "model:control-plane",
    "a Machine in deletion holds up the replacement of a lost one": "model:control-plane",
    "the first Machine in deletion is let go without a look at etcd": "model:control-plane",
    "the member of a running Machine in deletion counts as lost": "model:control-plane",
    "the member of a lost Machine in deletion counts as running": "model:control-plane",
    "the unstarted member of a lost Machine blocks its replacement": "model:control-plane",
    "etcd does without any member": "model:control-plane",
    "quorum is counted without the member that leaves": "model:control-plane",
    "the member of a Machine without a Node is left behind": "model:control-plane",
    "an unsafe member is removed as its Machine goes": "model:control-plane",
    "a control plane never grows": "model:control-plane",
    "a control plane never shrinks": "model:control-plane",
    "a Machine is added before the former one has joined": "model:control-plane",
    "a refused connection is tried again after 30 seconds": "create",
    "a Machine waits for a providerID that it has": "create",
    "a wait for a providerID outlives it": "service-create",
    "a lost Machine's name is used again": (
        "scale-control-plane@backup-restored@control-plane:w18"
    ),
    "a foreign control plane's Machine goes before its shutdown is prepared": "stack-scale",
    "a control plane without Machines counts as one with Nodes": "service-create",
    "a MachineSet is not woken by its Machines": "scale-workers",
    "a refused eviction is not tried again": "drain",
    "a drain ignores PodDisruptionBudgets": "drain",
    "no Node is drained": "drain",
    "a paused MachineSet goes on": "pause",
    "a paused Machine is deleted": "pause",
    "the init lock is not released": "create",
    "MachineSets of two templates have the same hash": "upgrade-workers",
    "a machine is not deleted in the cloud": "delete",
    "a DevCluster without annotations is not reconciled": "create",
    "a template of v1beta1 without a rollout type is refused": "create-class",
    "a control plane is initialized until its first Node is known": "create",
    "a lost owner reference is not set again": "create",
    "a status patch overwrites the conditions of others": "scale-control-plane",
    "remediation goes on at the limit plus one": "outage",
    "a Machine goes although its infrastructure is still there": "delete",
    "a MachineDeployment goes before its MachineSets are gone": "delete",
    "a Cluster deletes its control plane before its workers": "delete",
    "the infrastructure goes before the control plane": "delete",
    "workers upgrade before the control plane is stable": "upgrade-class",
    "a MachineSet's name changes between attempts": "create@lost-reply@core:w8,stale@core:e11",
    "an etcd of others is taken for that of the control plane": "external-etcd",
    "no volume is waited for": "volumes",
    "a control plane is upgraded although a hook holds it up": "hooks-upgrade",
    "workers are upgraded although a hook holds them up": "hooks-upgrade",
    "a Cluster is deleted although a hook holds it up": "hooks-delete",
    "a Cluster is created although a hook holds it up": "hooks-create",
    "an update in place is over with its first answer": "in-place",
    "a pool makes a machine under another name after a lost reply": (
        "pool@lost-reply@infrastructure:w12,stale@infrastructure:e40"
    ),
    "ages are measured by the manager's own clock": "grow-and-heal@clock-ahead@core:w1",
    "ages of Nodes are measured by the management cluster's clock": (
        "grow-and-heal@workload-behind@core:k1"
    ),
    "a leader gives up later than others may take its Lease": "leaders@lease-down@core:w10",
    "a Lease that is held is taken": "leaders",
    "a candidate trusts the clock of the leader": "leaders@candidate-behind@core:w9",
    "the Lease of another leader is renewed": "leaders@stopped@core:w10",
    "a MachinePool goes before its infrastructure": "delete-pool",
    "a kubeconfig's certificate is not renewed": "clock-jump",
    "a move does not pause the source": "move",
    "a move leaves the target paused": "move",
    "a move keeps the UIDs of owners in the source": "move",
    "a move leaves objects in the source": "move",
    "a resumed move does not pause the source again": "move@crash-before@mover:w1",
    "a step of the clock is undone until the next request": "clock-jump",
    "Nodes are unknown while a connection gets another kubeconfig": "clock-jump",
}
"""The finder of each mutation, by its name."""


ISSUES: Final[Mapping[str, int]] = {
    "a MachineSet's name changes between attempts": 13649,
    "the member of a Machine without a Node is left behind": 11772,
    "the unstarted member of a lost Machine stays": 13221,
    "a joining member without a name is taken for a stranger": 14197,
    "a Machine's etcd member is removed before its Node is drained": 11138,
    "a template of v1beta1 without a rollout type is refused": 12605,
    "the init lock is not released": 5814,
    "a control plane is initialized until its first Node is known": 3001,
    "a lost owner reference is not set again": 6980,
}
"""The issue of Cluster API that tells of the same bug."""


class Found(NamedTuple):
    """rule: the broken promise, "" if the finder finds nothing."""

    mutation: Mutation
    finder: str
    rule: str


def find_all(texts: Sequence[str] = ()) -> Iterator[Found]:
    """Try every mutation that has a finder, or those with a text in name or file."""
    chosen = [
        mutation
        for mutation in CATALOGUE
        if mutation.name in FINDERS
        and (not texts or any(text in mutation.name or text in mutation.file for text in texts))
    ]
    for name in sorted({FINDERS[mutation.name].partition("@")[0] for mutation in chosen}):
        if name in SCENARIOS:
            baseline_of(name, SEED)  # of the source as it is
    for mutation in chosen:
        finder = FINDERS[mutation.name]
        yield Found(mutation, finder, _in_a_fork(mutation, finder))


def _in_a_fork(mutation: Mutation, finder: str) -> str:
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        try:
            apply(mutation)
            rule = _find(finder)
        except Exception as error:
            rule = f"error: {type(error).__name__}"
        os.write(writer, msgspec.json.encode(rule))
        os._exit(0)
    os.close(writer)
    content = os.read(reader, 1 << 16)
    os.close(reader)
    os.waitpid(pid, 0)
    return msgspec.json.decode(content, type=str) if content else "it does not end"


def _find(finder: str) -> str:
    """Return the promise that is broken, "" for none."""
    kind, _, name = finder.partition(":")
    if kind == "model":
        return _find_by_model(name)
    scenario, _, faults = finder.partition("@")
    baseline: Baseline = baseline_of(scenario, SEED)
    if faults.endswith("*"):
        return _find_at_any_point(scenario, faults, baseline)
    outcome = run(SCENARIOS[scenario], SEED, parse_faults(faults), baseline=baseline)
    return outcome.violations[0].rule if outcome.violations else ""


def _find_at_any_point(scenario: str, fault: str, baseline: Baseline) -> str:
    kind, _, points = fault.partition("@")
    manager, _, letter = points.removesuffix("*").partition(":")

    def is_there(point: Point, _: str) -> bool:
        return (point.manager, point.letter) == (manager, letter)

    verdicts = explore_points(SCENARIOS[scenario], SEED, [kind], baseline, selects=is_there)
    rules = (violation.rule for verdict in verdicts for violation in verdict.violations)
    return next(rules, "")


def _find_by_model(name: str) -> str:
    if name == "rollout":
        problems = (explore(rollout.model_of(case)).problem for case in CASES)
    else:
        problems = (explore(control_plane.model_of(case)).problem for case in SMALL)
    return next((problem.splitlines()[0] for problem in problems if problem), "")


_HEADER: Final = """\
# Mutations that models and simulation find

Each row is a bug that was put into kapy, one at a time: `make mutations ARGS=--found` tries all of
them and fails if one is not found. A model explores every state; a scenario runs with seed 0. See
[how kapy is simulated](../concepts/simulation.md).

Cluster API's issues 7407 and 11141 have no row: neither its history and release notes nor the issue
threads that could be searched tell what they were.

| bug | found by | broken promise | Cluster API |
|---|---|---|---|
"""


def page(results: Sequence[Found]) -> str:
    """The table of what found what, as Markdown."""
    rows = (
        f"| {item.mutation.name} | {item.finder} | {item.rule} | {_issue(item.mutation.name)} |"
        for item in results
    )
    return _HEADER + "\n".join(rows) + "\n"


def _issue(name: str) -> str:
    number = ISSUES.get(name)
    link = f"https://github.com/kubernetes-sigs/cluster-api/issues/{number}"
    return f"[{number}]({link})" if number else ""


def main(words: Sequence[str]) -> int:
    """Try mutations, and print or write the table; 1 if one was not found."""
    logging.disable(logging.CRITICAL)
    target = next((word for word in words if word.endswith(".md")), None)
    results = []
    for result in find_all([word for word in words if not word.endswith(".md")]):
        results.append(result)
        verdict = "found   " if result.rule else "NOT FOUND"
        sys.stdout.write(f"{verdict} {result.mutation.name}: {result.finder}, {result.rule}\n")
        sys.stdout.flush()
    missed = sum(not result.rule for result in results)
    sys.stdout.write(f"{len(results)} mutations, {missed} not found by models and simulation\n")
    if target is not None:
        Path(target).write_text(page(results), encoding="utf-8")
    return 1 if missed or not results else 0
