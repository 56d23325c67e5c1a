"""The members of etcd, read from etcd on a machine and not through kapy.

The peer port lists the members for every client with a certificate of the peers' authority. etcd's
metrics, which listen on the loopback interface, report the leader.
"""

from __future__ import annotations

import json
from typing import Final

from tests.real_clusters.life import Life

_LEADS: Final = (
    "exec 3<>/dev/tcp/127.0.0.1/2381 && printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3 && "
    "sed --quiet '/^etcd_server_is_leader /p' <&3"
)
_PKI: Final = "/etc/kubernetes/pki/etcd"
_MEMBERS: Final = (
    "printf 'GET /members HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' | "
    "openssl s_client -quiet -connect $(hostname -i | cut -d' ' -f1):2380 "
    f"-CAfile {_PKI}/ca.crt -cert {_PKI}/peer.crt -key {_PKI}/peer.key"
)


async def members(life: Life) -> set[str]:
    """The names of all members."""
    node = life.node_of((await life.control_plane())[0])
    text = await _told(life, node, _MEMBERS)
    return {item["name"] for item in json.loads(text[text.index("[") :])}


async def leading(life: Life) -> str:
    """The node whose member leads."""
    nodes = [life.node_of(machine) for machine in await life.control_plane()]
    for node in nodes:
        if (await _told(life, node, _LEADS)).split() == ["etcd_server_is_leader", "1"]:
            return node
    raise AssertionError(f"none of {nodes} leads")


async def _told(life: Life, node: str, script: str) -> str:
    result = await life.engine.run(node, ["/bin/bash", "-c", script])
    assert result.exit_code == 0, result.stderr
    return result.stdout
