"""Whether the control plane can be used."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kapy.api.times import stamp
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.availability import available, next_report_after
from kapy.providers.kubeadm.controlplane.etcd import Member
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, EtcdState
from kapy.sdk import conditions
from tests.providers.kubeadm.building import NOW, machine, plane, say

A, B, C = Member(1, "a"), Member(2, "b"), Member(3, "c")


def status(*, since: float = 3600, certificates: bool = True) -> Document:
    time = stamp(NOW - timedelta(seconds=since))
    return {
        "initialization": {"controlPlaneInitialized": True},
        "conditions": [
            {
                "type": type_,
                "status": str(holds),
                "reason": type_,
                "message": "",
                "lastTransitionTime": time,
            }
            for type_, holds in (("Initialized", True), ("CertificatesAvailable", certificates))
        ],
    }


def three(**statuses: bool) -> ControlPlane:
    control_plane = plane(machine("a"), machine("b"), machine("c"), status=status(**statuses))
    control_plane.etcd = EtcdState(members=[A, B, C], matches_machines=True)
    return control_plane


def break_(control_plane: ControlPlane, *names: str, ago: float = 60, type_: str = "") -> None:
    for name in names:
        for text in [type_] if type_ else ["APIServerPodHealthy", "EtcdMemberHealthy"]:
            say(control_plane, name, conditions.false(text, "NotHealthy", "why"), ago=ago)


def told(control_plane: ControlPlane) -> tuple[str, str]:
    condition = available(control_plane)
    return condition.status, condition.message


def test_a_healthy_control_plane_is_available() -> None:
    assert told(three()) == ("True", "")


def test_an_uninitialized_control_plane_is_unavailable() -> None:
    assert told(plane()) == ("False", "Control plane not yet initialized")


def test_a_control_plane_without_certificates_is_unavailable() -> None:
    assert told(three(certificates=False)) == (
        "False",
        "* Control plane certificates are not available",
    )


def test_one_of_three_machines_may_be_broken() -> None:
    control_plane = three()
    break_(control_plane, "b")
    assert told(control_plane) == (
        "True",
        "* 2 of 3 etcd members are healthy, at least 2 healthy member required for etcd quorum\n"
        "* 2 of 3 Machines have healthy control plane components, at least 1 required",
    )


def test_a_new_issue_is_not_reported_while_the_quorum_holds() -> None:
    control_plane = three()
    break_(control_plane, "b", ago=4)
    assert told(control_plane) == ("True", "")
    assert next_report_after(control_plane) == timedelta(seconds=7)
    assert next_report_after(three()) is None


def test_without_a_quorum_it_is_not_available() -> None:
    control_plane = three()
    break_(control_plane, "b", "c", type_="EtcdMemberHealthy")
    assert told(control_plane) == (
        "False",
        "* 1 of 3 etcd members is healthy, at least 2 healthy member required for etcd quorum",
    )
    break_(control_plane, "a")
    assert told(control_plane) == (
        "False",
        "* There are no healthy etcd member, at least 2 healthy member required for etcd quorum\n"
        "* There are no Machines with healthy control plane components, at least 1 required",
    )


def test_learners_are_named() -> None:
    control_plane = three()
    control_plane.etcd.members = [
        A,
        Member(2, "b", is_learner=True),
        Member(3, "c", is_learner=True),
    ]
    break_(control_plane, "a", "b", "c")
    assert told(control_plane)[1].startswith(
        "* There are no healthy etcd member, 2 learner etcd member, at least 1 healthy member"
    )


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (60, ("False", "Waiting for etcd to report the list of members")),
        (600, ("Unknown", "Failed to get etcd members")),
    ],
)
def test_a_missing_etcd_answer_is_tolerated_for_some_time(
    since: float, expected: tuple[str, str]
) -> None:
    control_plane = plane(machine("a"), status=status(since=since))
    assert told(control_plane) == expected


def test_members_must_be_those_of_the_machines() -> None:
    control_plane = three()
    control_plane.etcd.matches_machines = False
    assert told(control_plane) == (
        "False",
        "The list of etcd members does not match the list of Machines and Nodes",
    )


def test_external_etcd_is_not_considered() -> None:
    external = {
        "external": {
            "endpoints": ["https://e:2379"],
            "caFile": "c",
            "certFile": "c",
            "keyFile": "k",
        }
    }
    spec = {"kubeadmConfigSpec": {"clusterConfiguration": {"etcd": external}}}
    control_plane = plane(machine("a"), spec=spec, status=status())
    break_(control_plane, "a", type_="EtcdMemberHealthy")
    assert told(control_plane) == ("True", "")
