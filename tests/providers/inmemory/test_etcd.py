"""etcd membership as the control plane sees it through the gateway."""

from __future__ import annotations

import pytest

from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request, Transport
from kapy.providers.inmemory.workload.etcd import Etcd
from tests.providers.inmemory.plane import in_memory_plane

LIST = "/v3/cluster/member/list"
REMOVE = "/v3/cluster/member/remove"
STATUS = "/v3/maintenance/status"
ALARM = "/v3/maintenance/alarm"
MOVE = "/v3/maintenance/transfer-leadership"


async def ask(transport: Transport, path: str, **body: str) -> Document:
    reply = await transport(Request("POST", path, body=body))
    assert isinstance(reply.body, dict)
    return {"status": reply.status, **reply.body}


def three() -> Etcd:
    etcd = Etcd("cluster")
    for name in ("a", "b", "c"):
        etcd.join(name, f"uid-{name}")
    return etcd


async def test_members_have_ids_as_decimal_strings_and_the_first_leads() -> None:
    etcd = three()
    listed = await ask(etcd.dial("b"), LIST)
    ids = {member["name"]: member["ID"] for member in listed["members"]}
    assert set(ids) == {"a", "b", "c"}
    assert all(value.isdecimal() and int(value) > 0 for value in ids.values())
    assert listed["header"]["member_id"] == ids["b"]
    assert (await ask(etcd.dial("c"), STATUS))["leader"] == ids["a"]


async def test_a_restart_gives_the_same_ids() -> None:
    assert three().members == three().members


async def test_leadership_is_handed_over_by_the_leader_only() -> None:
    etcd = three()
    to_c = str(etcd.members["c"])
    refused = await ask(etcd.dial("b"), MOVE, targetID=to_c)
    assert (refused["status"], refused["message"]) == (400, "etcdserver: not leader")
    assert (await ask(etcd.dial("a"), MOVE, targetID=to_c))["status"] == 200
    assert (await ask(etcd.dial("b"), STATUS))["leader"] == to_c
    unknown = await ask(etcd.dial("c"), MOVE, targetID="7")
    assert unknown["status"] == 400


async def test_a_removed_member_answers_no_more_and_stays_away() -> None:
    etcd = three()
    removal = str(etcd.members["a"])
    response = await ask(etcd.dial("b"), REMOVE, ID=removal)
    assert [member["name"] for member in response["members"]] == ["b", "c"]
    with pytest.raises(Unreachable):
        await ask(etcd.dial("a"), LIST)
    etcd.join("a", "uid-a")
    assert "a" not in etcd.members
    assert (await ask(etcd.dial("c"), STATUS))["leader"] == str(etcd.members["b"])
    again = await ask(etcd.dial("b"), REMOVE, ID=removal)
    assert (again["status"], again["code"]) == (404, 5)


async def test_alarms_are_reported() -> None:
    etcd = three()
    assert "alarms" not in await ask(etcd.dial("a"), ALARM, action="GET")
    etcd.alarms[etcd.members["b"]] = "NOSPACE"
    (alarm,) = (await ask(etcd.dial("a"), ALARM, action="GET"))["alarms"]
    assert alarm == {"memberID": str(etcd.members["b"]), "alarm": "NOSPACE"}


async def test_each_control_plane_machine_is_a_member() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        for name in ("blue-cp2", "blue-cp3"):
            await plane.machine("blue", name, control_plane=True)
        await plane.ready("blue-cp2", "blue-cp3")
        access = await plane.kubeconfig("blue")
        listed = await ask(
            plane.in_memory.etcd_dial(Key("default", "blue"), access, "blue-cp3"), LIST
        )
        assert [member["name"] for member in listed["members"]] == [
            "blue-cp",
            "blue-cp2",
            "blue-cp3",
        ]
        with pytest.raises(Unreachable):
            await ask(plane.in_memory.etcd_dial(Key("default", "blue"), access, "blue-0"), LIST)
