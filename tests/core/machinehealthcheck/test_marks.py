"""Tests of the conditions that request remediation from the owner of an unhealthy Machine."""

from __future__ import annotations

import pytest

from kapy.core.machinehealthcheck.remediation import Marks, owner_marks
from kapy.kube import Document
from tests.core.machinehealthcheck.test_checks import condition, machine

REMEDIATED = "OwnerRemediated"


def test_a_remediation_is_requested_once() -> None:
    (request,) = owner_marks(machine()).conditions
    assert (request.type, request.status) == (REMEDIATED, "False")
    assert request.reason == "WaitingForRemediation"


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        (condition(REMEDIATED, "False", 60, "RemediationDeferred"), False),  # the owner's words
        (condition(REMEDIATED, "True", 60, "Done"), True),
    ],
)
def test_the_owner_decides_about_its_remediation_conditions(said: Document, *, asks: bool) -> None:
    assert bool(owner_marks(machine(said)).conditions) is asks


def test_a_deleted_machine_is_not_marked_for_remediation() -> None:
    going = machine(deletionTimestamp="2026-01-01T11:00:00Z", finalizers=["f"])
    assert owner_marks(going) == Marks()
