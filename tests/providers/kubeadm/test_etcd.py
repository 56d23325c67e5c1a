"""etcd's gateway, and what its answers mean for Machines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.providers.kubeadm.controlplane.etcd import (
    Alarm,
    EtcdError,
    EtcdGateway,
    EtcdUnreachable,
    Member,
    member_named,
    member_names,
)
from kapy.providers.kubeadm.controlplane.etcd_health import (
    nodes_to_query,
    observe_etcd,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, EtcdState
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane

BIG = 2**63 + 5


class Answering:
    """A gateway that gives one answer and remembers what it was asked."""

    def __init__(self, body: Any, status: int = 200) -> None:
        self.reply = Reply(status, body)
        self.asked: list[tuple[str, Any]] = []

    async def __call__(self, request: Request) -> Reply:
        self.asked.append((request.path, request.body))
        return self.reply


async def test_members_are_read_as_proto3_json_spells_them() -> None:
    answer = {
        "members": [
            {
                "ID": str(BIG),
                "name": "a",
                "peerURLs": ["https://a:2380"],
                "clientURLs": ["https://a:2379"],
            },
            {"ID": "7", "isLearner": True},
        ]
    }
    members = await EtcdGateway(Answering(json.dumps(answer).encode())).members()
    assert members == [
        Member(BIG, "a", peer_urls=("https://a:2380",), client_urls=("https://a:2379",)),
        Member(7, "", is_learner=True),
    ]
    assert member_named(members, "a") is members[0]
    assert member_names(members) == ["a", "name not set yet for member with id 7"]


async def test_numbers_go_out_as_strings() -> None:
    gateway = Answering({})
    await EtcdGateway(gateway).remove_member(BIG)
    await EtcdGateway(gateway).move_leader(BIG)
    assert gateway.asked == [
        ("/v3/cluster/member/remove", {"ID": str(BIG)}),
        ("/v3/maintenance/transfer-leadership", {"targetID": str(BIG)}),
    ]


async def test_omitted_fields_of_etcd_answers_are_zero() -> None:
    assert await EtcdGateway(Answering({})).leader() == 0
    assert await EtcdGateway(Answering({})).members() == []
    alarms = {"alarms": [{"memberID": "3", "alarm": "NOSPACE"}, {"memberID": "4"}]}
    assert await EtcdGateway(Answering(alarms)).alarms() == [Alarm(3, "NOSPACE")]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"error": "e", "code": 5, "message": "etcdserver: member not found"}, 404, "member not"),
        ({}, 503, "503"),
        (b"<html>", 200, "no JSON object"),
        (b"[]", 200, "no JSON object"),
    ],
)
async def test_a_refused_request_is_an_error(body: Any, status: int, message: str) -> None:
    with pytest.raises(EtcdError, match=message):
        await EtcdGateway(Answering(body, status)).members()


async def test_a_missing_answer_means_unreachable() -> None:
    async def nobody(_: Request) -> Reply:
        raise Unreachable("nobody is there")

    with pytest.raises(EtcdUnreachable, match="nobody is there"):
        await EtcdGateway(nobody).leader()


def observed(
    *machines: Document, members: list[Member] | None, alarms: tuple[Alarm, ...] = ()
) -> ControlPlane:
    control_plane = plane(*machines)
    old = "2025-01-01T00:00:00Z"
    control_plane.nodes = {
        item.metadata.name: {"metadata": {"creationTimestamp": old}}
        for item in control_plane.machines
    }
    failure = "" if members is not None else "Failed to connect to etcd: why"
    observe_etcd(control_plane, EtcdState(members=members, alarms=alarms, failure=failure))
    return control_plane


def told(control_plane: ControlPlane) -> tuple[str, str]:
    condition = conditions.get(control_plane.kcp.status.conditions, "EtcdClusterHealthy")
    assert condition is not None
    return condition.status, condition.message


A, B, C = Member(1, "a"), Member(2, "b"), Member(3, "c")


@pytest.mark.parametrize(
    ("members", "alarms", "expected"),
    [
        ([A, B], (), ("True", "")),
        (
            [A],
            (),
            ("False", "* Machine b:\n  * EtcdMemberHealthy: Etcd doesn't have an etcd member"),
        ),
        ([A, B, C], (), ("False", "* Etcd member c does not have a corresponding Machine")),
        (
            [A, B, Member(9, "")],
            (),
            (
                "False",
                "* Etcd member 9 (Name not yet assigned) does not have a corresponding Machine",
            ),
        ),
        (
            [A, Member(2, "b", is_learner=True)],
            (),
            ("False", "* Machine b:\n  * EtcdMemberHealthy: Waiting for learner etcd member"),
        ),
        (
            [A, B],
            (Alarm(2, "NOSPACE"), Alarm(2, "CORRUPT"), Alarm(9, "CORRUPT")),
            ("False", "* Machine b:\n  * EtcdMemberHealthy: Etcd reports alarms: NOSPACE, CORRUPT"),
        ),
        (None, (), ("Unknown", "* Machines a, b:\n  * EtcdMemberHealthy: Failed to connect")),
    ],
)
def test_etcd_conditions_follow_members_and_alarms(
    members: list[Member] | None, alarms: tuple[Alarm, ...], expected: tuple[str, str]
) -> None:
    control_plane = observed(
        machine("a", healthy=False), machine("b", healthy=False), members=members, alarms=alarms
    )
    status, message = told(control_plane)
    assert status == expected[0]
    assert message.startswith(expected[1])
    matches = members is not None and {member.name for member in members} == {"a", "b"}
    assert control_plane.etcd.matches_machines is matches


def test_a_member_may_be_there_before_its_node() -> None:
    control_plane = observed(machine("a"), machine("b", node=False, healthy=False), members=[A, B])
    assert told(control_plane) == ("False", "* Etcd member b does not have a corresponding Machine")
    assert control_plane.etcd.matches_machines  # so the control plane stays available


def test_healthy_members_are_asked_first() -> None:
    going = machine("d", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"])
    control_plane = plane(
        machine("a", healthy=False), machine("b"), going, machine("e", node=False)
    )
    control_plane.nodes = {"a": {}, "b": {}, "d": {}}
    assert nodes_to_query(control_plane) == ["b", "a"]
