"""Providers by hand: the good ones break no rule, each wrong one breaks exactly its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.testing.conformance.behaviour import bootstrap_config, control_plane, ipam, ipam_consumers
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.in_process import Add, InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.conformance.run import run_checks
from tests.testing.conformance.by_hand import bootstrap as boot
from tests.testing.conformance.by_hand import control_plane as planes
from tests.testing.conformance.by_hand import ipam as pools
from tests.testing.conformance.by_hand import machine as takers

KINDS: Final[dict[str, tuple[Callable[[str], Add], Resource, Document]]] = {
    "bootstrap-config": (boot.HandBootstrap.adding, boot.CONFIGS, boot.EXAMPLE),
    "control-plane": (planes.HandControlPlane.adding, planes.CONTROL_PLANES, planes.EXAMPLE),
    "ipam": (pools.HandIPAM.adding, pools.POOLS, pools.EXAMPLE),
    "infra-machine": (takers.HandMachine.adding, takers.MACHINES, takers.EXAMPLE),
}
OF_ALL_PARTS: Final = {"owner-finalizers", "ssa-dry-run", "immutable", "instances"}
"""The wrong providers of machines show that these can fail: the checks are the same."""
CHECKS: Final[dict[str, Sequence[Check]]] = {
    role: [check for check in checks if check.name not in OF_ALL_PARTS]
    for role, checks in (
        ("bootstrap-config", bootstrap_config.CHECKS),
        ("control-plane", control_plane.CHECKS),
        ("ipam", ipam.CHECKS),
        ("infra-machine", ipam_consumers.CHECKS),
    )
}
EVERY: Final = ("watch", "owner", "pausing", "paused-condition", "idle", "deletion")
WRONG: Final = {
    "bootstrap-config": (
        *EVERY,
        "data-secret-content: label",
        "data-secret-content: keys",
        "data-secret-content: name",
        "data-secret-content: owner",
        "data-secret-once",
        "initialized: never",
        "initialized: early",
        "initialized: back",
        "restored",
    ),
    "control-plane": (
        *EVERY,
        "restored",
        "initialized: back",
        "endpoint-of-others",
        "versions-order: counts",
        "versions-order: order",
        "machines-label",
        "machines-in-place",
        "machines-in-place: replaced",
        "metadata-propagation",
        "metadata-propagation: labels",
        "placement: all",
        "placement: none",
        "min-ready-seconds",
        "kubeconfig: name",
        "kubeconfig: type",
        "kubeconfig: label",
        "kubeconfig: value",
        "kubeconfig-renewal: never",
        "kubeconfig-renewal: long",
        "certificates: type",
        "certificates: label",
    ),
    "ipam": (
        "watch",
        "others",
        "paused",
        "finalizer",
        "unique: same",
        "unique: moves",
        "name",
        "claim-owner",
        "pool-owner: none",
        "pool-owner: free",
        "protection",
        "address-ref",
        "release: address",
        "deletion",
    ),
    "infra-machine": ("pool-ref", "claim-of-machine", "claim-cluster", "claim-deletion"),
}


def subject(role: str, wrong: str = "") -> ProviderUnderTest:
    adding, resource, example = KINDS[role]
    return ProviderUnderTest(
        "by hand", (Kind.of(role, resource, example),), InProcess(adding(wrong))
    )


async def judge(role: str, wrong: str = "") -> Report:
    return await run_checks(subject(role, wrong), CHECKS[role], light=True)


def broken(report: Report) -> set[str]:
    return {item.rule.name for item in report.with_state(State.BROKEN)}


@pytest.mark.parametrize("role", KINDS)
async def test_a_good_provider_breaks_no_rule(role: str) -> None:
    report = await judge(role)
    assert broken(report) == set()
    wrong = [text.partition(": ")[0] for text in WRONG[role]]
    passed = {item.rule.name for item in report.with_state(State.PASSED)}
    assert set(wrong) - passed - {"deletion"} == set()


@pytest.mark.parametrize(
    ("role", "wrong"), [(role, wrong) for role, entry in WRONG.items() for wrong in entry]
)
async def test_a_wrong_provider_breaks_exactly_its_rule(role: str, wrong: str) -> None:
    rule = wrong.partition(": ")[0]
    if (role, rule) == ("ipam", "deletion"):
        rule = "release"
    assert broken(await judge(role, wrong)) == {rule}


def test_every_check_has_a_provider_that_fails_it() -> None:
    for role, checks in CHECKS.items():
        assert {check.name for check in checks} <= {text.partition(": ")[0] for text in WRONG[role]}
