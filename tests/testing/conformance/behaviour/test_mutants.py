"""Each deliberately wrong provider breaks exactly its rule; the good one breaks none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.provider_under_test import ProviderUnderTest
from kapy.testing.conformance.rules import RULES
from kapy.testing.conformance.run import run_checks
from tests.testing.conformance.behaviour.mutants import (
    CLUSTER,
    MACHINE,
    POOL,
    BeforeData,
    BeforeEndpoint,
    BeforeInfrastructure,
    Blocking,
    ByUid,
    Clinging,
    ClingsUntilReady,
    ClingsWithoutOwner,
    Deaf,
    DeletesPaused,
    Elsewhere,
    Forgetful,
    Hasty,
    HeldByFailure,
    Hoarding,
    IgnoresAnnotation,
    Meddling,
    NeverDone,
    OddAddress,
    OfOthers,
    Old,
    OnceOnly,
    Orphaning,
    Ownerless,
    Renaming,
    Restless,
    SameForAll,
    Single,
    Stubborn,
    Stuck,
    TakesBack,
    Talkative,
    TellsNoPause,
    Templates,
    Unfiltered,
    Unnamed,
    Untidy,
    everywhere,
    limited,
    old,
    pool_with_machines,
    subject,
)
from tests.testing.conformance.behaviour.plain import (
    RESOURCES,
    Plain,
)


@dataclass(frozen=True)
class Mutant:
    """A provider, and the rules that it breaks. of: the part that its kind has."""

    make: Callable[[str], ProviderUnderTest]
    breaks: Sequence[str]
    of: Sequence[str] = field(default=(CLUSTER, MACHINE, POOL))


def made(plain: type[Plain]) -> Callable[[str], ProviderUnderTest]:
    return lambda role: subject(plain, role)


def admitted(templates: Templates) -> Callable[[str], ProviderUnderTest]:
    return lambda role: replace(subject(Plain, role), admission=(templates,))


GOOD: Final[dict[str, Mutant]] = {
    "plain": Mutant(made(Plain), ()),
    "old": Mutant(lambda role: old(subject(Old, role)), (), (CLUSTER, MACHINE)),
    "endpoint of others": Mutant(made(OfOthers), (), (CLUSTER,)),
    "pool with machines": Mutant(pool_with_machines(Single), (), (POOL,)),
    "limited": Mutant(lambda role: limited(subject(Blocking, role)), (), (MACHINE,)),
}
WRONG: Final[dict[str, Mutant]] = {
    "never answers": Mutant(made(Deaf), ["watch"], (CLUSTER, MACHINE)),
    "needs no owner": Mutant(made(Ownerless), ["owner"], (CLUSTER, MACHINE)),
    "makes before it holds": Mutant(made(Hasty), ["finalizer"], (CLUSTER, MACHINE)),
    "forgets the finalizer": Mutant(made(Forgetful), ["restored"], (CLUSTER, MACHINE)),
    "writes without need": Mutant(made(Restless), ["idle"], (CLUSTER, MACHINE)),
    "floods Events": Mutant(made(Talkative), ["idle"], (MACHINE,)),
    "is never done": Mutant(made(NeverDone), ["initialized"]),
    "takes the flag back": Mutant(made(TakesBack), ["initialized"]),
    "says so before it has an ID": Mutant(made(Unnamed), ["initialized"], (MACHINE,)),
    "never lets go": Mutant(made(Clinging), ["deletion"], (CLUSTER, MACHINE)),
    "lets go only what is ready": Mutant(made(ClingsUntilReady), ["deletion"], (MACHINE,)),
    "lets go only what has an owner": Mutant(made(ClingsWithoutOwner), ["deletion"], (MACHINE,)),
    "leaves what it made": Mutant(made(Untidy), ["deletion"], (MACHINE,)),
    "goes on after a failure": Mutant(
        lambda role: old(subject(Stubborn, role)), ["stopped"], (CLUSTER, MACHINE)
    ),
    "does not delete what has failed": Mutant(
        lambda role: old(subject(HeldByFailure, role)), ["stopped"], (CLUSTER, MACHINE)
    ),
    "does not see the annotation": Mutant(made(IgnoresAnnotation), ["pausing"]),
    "deletes what is paused": Mutant(made(DeletesPaused), ["pausing"]),
    "does not tell of pausing": Mutant(made(TellsNoPause), ["paused-condition"]),
    "has no watch filter": Mutant(made(Unfiltered), ["instances"]),
    "may not update its owner's finalizers": Mutant(
        lambda role: limited(subject(Blocking, role), f"{RESOURCES[role].plural}/finalizers"),
        ["owner-finalizers"],
    ),
    "refuses the dry run": Mutant(
        admitted(Templates(exception=False)), ["ssa-dry-run"], (MACHINE, POOL)
    ),
    "believes the annotation": Mutant(
        admitted(Templates(dry=False)), ["immutable"], (MACHINE, POOL)
    ),
    "believes any dry run": Mutant(
        admitted(Templates(annotated=False)), ["immutable"], (MACHINE, POOL)
    ),
    "names all alike": Mutant(made(SameForAll), ["provider-id-value"], (MACHINE,)),
    "names anew": Mutant(made(Renaming), ["provider-id-value"], (MACHINE,)),
    "puts it elsewhere": Mutant(made(Elsewhere), ["failure-domain"], (MACHINE,)),
    "has addresses of its own": Mutant(made(OddAddress), ["address-types"], (MACHINE,)),
    "does not wait for infrastructure": Mutant(
        made(BeforeInfrastructure), ["infrastructure-wait"], (MACHINE,)
    ),
    "does not wait for boot data": Mutant(made(BeforeData), ["bootstrap-wait"], (MACHINE,)),
    "does not wait for an endpoint": Mutant(
        made(BeforeEndpoint), ["endpoint-of-others"], (CLUSTER,)
    ),
    "meddles": Mutant(made(Meddling), ["externally-managed"], (CLUSTER,)),
    "looks at all namespaces": Mutant(
        everywhere, ["instances", "clusterctl/namespace-flag"], (MACHINE,)
    ),
    "keeps objects of machines that went": Mutant(
        pool_with_machines(Hoarding), ["machines"], (POOL,)
    ),
    "names all machines of a pool alike": Mutant(made(SameForAll), ["provider-ids"], (POOL,)),
    "does not follow": Mutant(made(Stuck), ["provider-ids"], (POOL,)),
    "makes orphans": Mutant(made(Orphaning), ["clusterctl/owners"], (MACHINE,)),
    "names by what a move changes": Mutant(made(ByUid), ["clusterctl/move"], (MACHINE,)),
    "remembers in status alone": Mutant(made(OnceOnly), ["clusterctl/status"], (MACHINE,)),
}


def cases(table: dict[str, Mutant]) -> list[Any]:
    return [
        pytest.param(role, mutant, id=f"{role}: {name}")
        for name, mutant in table.items()
        for role in mutant.of
    ]


def broken(report: Report) -> dict[str, list[str]]:
    results = report.with_state(State.BROKEN)
    return {item.rule.id: [finding.evidence for finding in item.findings] for item in results}


@pytest.mark.parametrize(("role", "mutant"), [*cases(GOOD), *cases(WRONG)])
async def test_each_mutant_breaks_its_rule_and_no_other(role: str, mutant: Mutant) -> None:
    expected = {text if text in RULES else f"{role}/{text}" for text in mutant.breaks}
    # Checks that restart a provider take as long as all others. Only good providers go through
    # them, and mutants that break a rule of such a check.
    later = {check.stage for check in BEHAVIOUR if check.rule in expected}
    checks = [
        check for check in BEHAVIOUR if not check.stage or check.stage in later or not expected
    ]
    report = await run_checks(mutant.make(role), checks, light=True)
    results = broken(report)
    assert set(results) == expected, results
    assert report.trouble == ""


def test_every_check_of_these_documents_has_a_mutant() -> None:
    documents = (CLUSTER, MACHINE, POOL, "clusterctl")
    checked = {check.rule for check in BEHAVIOUR if check.rule.partition("/")[0] in documents}
    proven = {
        text if text in RULES else f"{role}/{text}"
        for mutant in WRONG.values()
        for role in mutant.of
        for text in mutant.breaks
    }
    assert checked - proven == set()
