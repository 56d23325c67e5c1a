"""etcd's calls, as its gRPC services and its HTTP/JSON gateway define them.

They come from etcd's `api/etcdserverpb/rpc.proto`; only those that managing control plane members
needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kapy.kube.wire_format import Field, Message

_CLUSTER: Final = "/etcdserverpb.Cluster"
_MAINTENANCE: Final = "/etcdserverpb.Maintenance"
_ALARMS: Final = ("NONE", "NOSPACE", "CORRUPT")

_HEADER: Final[Message] = {
    1: Field("cluster_id", "uint64"),
    2: Field("member_id", "uint64"),
    3: Field("revision", "int64"),
    4: Field("raft_term", "uint64"),
}
_MEMBER: Final[Message] = {
    1: Field("ID", "uint64"),
    2: Field("name", "string"),
    3: Field("peerURLs", "string", repeated=True),
    4: Field("clientURLs", "string", repeated=True),
    5: Field("isLearner", "bool"),
}
_ALARM: Final[Message] = {
    1: Field("memberID", "uint64"),
    2: Field("alarm", "enum", of=_ALARMS),
}
_HEADED: Final[Message] = {1: Field("header", "message", of=_HEADER)}
_MEMBERS: Final[Message] = {**_HEADED, 2: Field("members", "message", repeated=True, of=_MEMBER)}


class EtcdCall(NamedTuple):
    """One method of etcd's API. path: its path in the HTTP/JSON gateway. method: its name in
    gRPC.
    """

    path: str
    method: str
    request: Message
    response: Message


CALLS: Final = (
    EtcdCall(
        "/v3/cluster/member/list",
        f"{_CLUSTER}/MemberList",
        {1: Field("linearizable", "bool")},
        _MEMBERS,
    ),
    EtcdCall(
        "/v3/cluster/member/remove",
        f"{_CLUSTER}/MemberRemove",
        {1: Field("ID", "uint64")},
        _MEMBERS,
    ),
    EtcdCall(
        "/v3/maintenance/status",
        f"{_MAINTENANCE}/Status",
        {},
        {
            **_HEADED,
            2: Field("version", "string"),
            3: Field("dbSize", "int64"),
            4: Field("leader", "uint64"),
            5: Field("raftIndex", "uint64"),
            6: Field("raftTerm", "uint64"),
            7: Field("raftAppliedIndex", "uint64"),
            8: Field("errors", "string", repeated=True),
            9: Field("dbSizeInUse", "int64"),
            10: Field("isLearner", "bool"),
        },
    ),
    EtcdCall(
        "/v3/maintenance/alarm",
        f"{_MAINTENANCE}/Alarm",
        {
            1: Field("action", "enum", of=("GET", "ACTIVATE", "DEACTIVATE")),
            2: Field("memberID", "uint64"),
            3: Field("alarm", "enum", of=_ALARMS),
        },
        {**_HEADED, 2: Field("alarms", "message", repeated=True, of=_ALARM)},
    ),
    EtcdCall(
        "/v3/maintenance/transfer-leadership",
        f"{_MAINTENANCE}/MoveLeader",
        {1: Field("targetID", "uint64")},
        _HEADED,
    ),
)

BY_PATH: Final[Mapping[str, EtcdCall]] = {call.path: call for call in CALLS}
BY_METHOD: Final[Mapping[str, EtcdCall]] = {call.method: call for call in CALLS}
