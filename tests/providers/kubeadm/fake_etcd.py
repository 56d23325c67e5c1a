"""An etcd cluster that answers as etcd's HTTP/JSON gateway does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request, Transport
from kapy.providers.kubeadm.controlplane.etcd import EtcdUnreachable
from kapy.remote.cluster_cache import Kubeconfig


@dataclass
class FakeEtcd:
    """Members by name; the first one to come leads."""

    members: dict[str, Document] = field(default_factory=dict)
    alarms: list[Document] = field(default_factory=list)
    leader: str = ""
    down: bool = False
    calls: list[str] = field(default_factory=list)

    def join(self, name: str, *, learner: bool = False) -> None:
        """A member comes."""
        number = str(2**63 + len(self.members) + len(self.calls))
        self.members[name] = {
            "ID": number,
            "name": name,
            "peerURLs": [f"https://{name}:2380"],
            "clientURLs": [f"https://{name}:2379"],
        }
        if learner:
            self.members[name]["isLearner"] = True
        self.leader = self.leader or name

    def dial(self, _: Key, __: Kubeconfig, node: str) -> Transport:
        """The etcd on a node."""
        if self.down or node not in self.members:
            raise EtcdUnreachable(f"no etcd answers on {node}")

        async def ask(request: Request) -> Reply:
            assert isinstance(request.body, dict)
            self.calls.append(request.path)
            return self._answer(node, request.path, request.body)

        return ask

    def _answer(self, node: str, path: str, body: dict[str, Any]) -> Reply:
        header = {"cluster_id": "1", "member_id": self.members[node]["ID"], "raft_term": "2"}
        match path:
            case "/v3/maintenance/status":
                leader = self.members[self.leader]["ID"] if self.leader else "0"
                return Reply(200, {"header": header, "version": "3.6.0", "leader": leader})
            case "/v3/cluster/member/list":
                return Reply(200, {"header": header, "members": list(self.members.values())})
            case "/v3/maintenance/alarm":
                return Reply(200, {"header": header, "alarms": self.alarms})
            case "/v3/cluster/member/remove":
                name = self._name_of(body["ID"])
                if name is None:
                    return _failure(404, "etcdserver: member not found")
                del self.members[name]
                if self.leader == name:
                    self.leader = next(iter(self.members), "")
                return Reply(200, {"header": header, "members": list(self.members.values())})
            case "/v3/maintenance/transfer-leadership":
                if self.leader != node:
                    return _failure(400, "etcdserver: not leader")
                self.leader = self._name_of(body["targetID"]) or self.leader
                return Reply(200, {"header": header})
            case _:
                return _failure(404, "Not Found")

    def _name_of(self, number: str) -> str | None:
        return next((name for name, member in self.members.items() if member["ID"] == number), None)


def _failure(status: int, message: str) -> Reply:
    return Reply(status, {"error": message, "code": 5, "message": message})
