"""The capacity that a provider needs during a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Final

from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest

_CLUSTER: Final = "infra-cluster"


def required_capacity(
    provider: ProviderUnderTest, checks: Sequence[Check], parallel: int = 0
) -> dict[str, int]:
    """Return the most objects of each provider kind that exist at the same time, by kind.

    parallel: the most concurrent checks, 0 for no limit.
    """
    stages = {check.stage for check in checks}
    result = {item.resource.kind: 0 for item in provider.kinds}
    for number in stages:
        runs = [_objects_of_run(provider, *run) for run in _runs_of_stage(provider, checks, number)]
        for kind in result:
            counts = [run.get(kind, 0) for run in runs]
            most = sum(nlargest(parallel, counts) if parallel else counts)
            result[kind] = max(result[kind], most)
    return {kind: count for kind, count in result.items() if count}


def describe_capacity(needs: dict[str, int]) -> str:
    """Describe the required capacity in a sentence."""
    counts = " and ".join(f"{count} {kind}" for kind, count in needs.items())
    return (
        f"The provider needs room for {counts} at the same time. All objects are deleted in the "
        "end. --parallel N does fewer checks at a time, which needs less room and more time."
    )


def _runs_of_stage(
    provider: ProviderUnderTest, checks: Iterable[Check], number: int
) -> list[tuple[Check, Kind]]:
    runs = []
    for check in checks:
        if check.stage == number and not provider.kinds_without_example.get(check.role):
            whole = check.role == "clusterctl"
            kinds = provider.kinds[:1] if whole else provider.kinds_of_role(check.role)
            runs += [(check, kind) for kind in kinds]
    return runs


def _objects_of_run(provider: ProviderUnderTest, check: Check, kind: Kind) -> dict[str, int]:
    """Return how many objects one run of a check creates, by kind."""
    if check.role == "clusterctl":
        return {item.resource.kind: 1 for item in provider.kinds}
    result = {kind.resource.kind: check.objects_created}
    clusters = provider.kinds_of_role(_CLUSTER)
    if clusters and kind.role in setup.ROLE_SETUPS and setup.ROLE_SETUPS[kind.role].needs_cluster:
        result.setdefault(clusters[0].resource.kind, 1)
    return result
