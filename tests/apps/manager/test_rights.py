"""Managers have the rights that their flows need, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from kapy.apiserver.auth.rbac.rules import allows
from kapy.apps.components.rules import rules_of
from kapy.apps.manager.components import components_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.migrated_kinds import migration_rights
from kapy.apps.program.diagnostics import Diagnostics
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import LEASES
from tests.apps.manager.flows import beside, live, live_in_containers, live_of_a_class, story
from tests.apps.manager.separate import Separate, separate
from tests.hooks.extension import Extension, Network

FULL = frozenset(
    f"{item}.cluster.x-k8s.io" for item in ("infrastructure", "bootstrap", "controlplane")
)
"""Groups on whose `*` core and the control plane provider have full rights, as upstream grants."""
UNUSED = {
    ("bootstrap-kubeadm", "", "events", "*"): "told of failures alone, of which there is none here",
    ("infrastructure-dev", "", "events", "*"): "as before",
    ("infrastructure-dev", "", "secrets", "patch"): "kubeconfigs get the address of a new Pod",
}
"""Granted rights that no flow here uses, each with the reason. The last word is the verb."""


async def test_the_managers_need_exactly_their_permissions() -> None:
    async with separate(Network(ext=Extension())) as here:
        await clear_away(here)
        result = story(here.client)
        await beside(result)
        await live(result)
        await live_of_a_class(result)
        await live_in_containers(result)
        await somebody_looks(here)
    refused = {name: value.refused for name, value in here.asked.items() if value.refused}
    assert refused == {}
    assert {name: list(unused(name, here)) for name in PROGRAMS} == {name: [] for name in PROGRAMS}


async def clear_away(here: Separate) -> None:
    """Managers wait for those who are gone; then nobody has the Leases any more."""
    await asyncio.sleep(2)
    for program in PROGRAMS.values():
        await here.client.delete(LEASES, Key(program.namespace, program.lease))
    await asyncio.sleep(2)


async def somebody_looks(here: Separate) -> None:
    """Somebody whom the server knows asks for metrics."""
    for name, program in PROGRAMS.items():
        path = f"/api/v1/namespaces/{program.namespace}/serviceaccounts/{program.account}/token"
        request: Document = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = await here.client.raw("POST", path, body={**request, "spec": {}})
        asking = Client(here.asked[name])
        diagnostics = Diagnostics(here.runtimes[program.name], asking)
        headers = [(b"authorization", f"Bearer {answer['status']['token']}".encode())]
        scope: Any = {"type": "http", "method": "GET", "path": "/metrics", "headers": headers}
        sent: list[Any] = []

        async def send(message: Any, to: list[Any] = sent) -> None:
            to.append(message)

        await diagnostics(scope, _nothing, send)
        assert sent[0]["status"] == 403  # known, and nobody granted it


async def _nothing() -> Any:
    return {"type": "http.request", "body": b""}


def unused(name: str, here: Separate) -> Iterator[str]:
    """Each single right that a manager has and nothing needed."""
    migrating = [item for rule in rules_of(migration_rights(name)) for item in single(rule)]
    for rule, namespace in granted(name):
        for document in single(rule):
            group, resource = document["apiGroups"][0], document["resources"][0]
            keys = {(name, group, resource, verb) for verb in ("*", *document["verbs"])}
            exempt = (resource == "*" and group in FULL) or not keys.isdisjoint(UNUSED)
            exempt = exempt or document in migrating  # needed: test_crd_migration
            if not exempt and not any(
                allows(document, attributes) and namespace in ("", attributes.namespace)
                for attributes in here.asked[name].asked
            ):
                where = f" in {namespace}" if namespace else ""
                names = "".join(document.get("resourceNames", ()))
                yield f"{document['verbs'][0]} {resource}.{group} {names}{where}"


def granted(name: str) -> Iterator[tuple[Document, str]]:
    """The rules of a manager, and the namespace that they are for ("" for all)."""
    for component in components_of(name):
        if component["kind"] in ("ClusterRole", "Role"):
            for rule in component["rules"]:
                yield rule, component["metadata"].get("namespace", "")


def single(rule: Document) -> Iterator[Document]:
    """A rule's rights, one by one. Names count together: each is as good as the other."""
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield {**rule, "apiGroups": [group], "resources": [resource], "verbs": [verb]}
