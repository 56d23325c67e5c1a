"""Tests of the work of a request, counted in calls of Python functions.

A measured time would depend on the machine. The bounds leave a small margin. A change that exceeds
them makes every request slower.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from types import FrameType
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.api.machine import Machine
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, Resource

MACHINES = Machine.RESOURCE


def machine(name: str) -> Document:
    """A Machine as controllers create it."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": name}
    return {
        "apiVersion": MACHINES.api_version,
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", "labels": {"pool": "a"}},
        "spec": {
            "clusterName": "herd",
            "version": "v1.34.0",
            "bootstrap": {"dataSecretName": name},
            "infrastructureRef": reference,
        },
    }


def config_map(name: str) -> Document:
    """A small ConfigMap."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


async def calls_of(work: Awaitable[Any]) -> int:
    """The number of calls of Python functions while the work is awaited."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        await work
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("kind", "document", "patch", "most"),
    [
        (MACHINES, machine, {"metadata": {"labels": {"a": "b"}}}, (30, 300, 250)),
        (CONFIG_MAPS, config_map, {"data": {"a": "c"}}, (30, 177, 188)),
    ],
)
async def test_a_request_makes_no_more_calls_than_recorded(
    kind: Resource, document: Any, patch: Document, most: tuple[int, int, int]
) -> None:
    server = Server.open(None, clock=system_clock, admission=(AdmissionRules(),))
    client = Client(server.transport(ADMIN), field_manager="driver")
    await install_definitions(client)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    await client.create(NAMESPACES, namespace)
    for name in ("warm", "up"):  # schemas are compiled, and texts remembered
        await client.create(kind, document(name))
        await client.patch(kind, Key("default", name), patch)
        await client.get(kind, Key("default", name))
    key = Key("default", "a")
    create = await calls_of(client.create(kind, document("a")))
    get = await calls_of(client.get(kind, key))
    change = await calls_of(client.patch(kind, key, patch))
    server.close()
    results = get, create, change
    assert all(number <= bound for number, bound in zip(results, most, strict=True)), (
        results,
        most,
    )
