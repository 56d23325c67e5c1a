"""Rights of a program in the server's process: its rules, and those of labelled ClusterRoles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.auth.rbac.built_in import BuiltInRights
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Forbidden
from kapy.kube.http import ADMIN, User
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource

PROGRAM: Final = User("program", ("system:authenticated",))
LABEL: Final = "example.dev/aggregate"
ROLES: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
READ: Final = ["get", "list", "watch"]
KEY: Final = Key("default", "a")


def rule(resource: Resource, *verbs: str, **more: Any) -> Document:
    resources = [resource.plural]
    return {"apiGroups": [resource.group], "resources": resources, "verbs": list(verbs), **more}


def role(*rules: Document, value: str = "true") -> Document:
    metadata = {"name": "a", "labels": {LABEL: value}}
    api_version = ROLES.api_version
    return {
        "apiVersion": api_version,
        "kind": ROLES.kind,
        "metadata": metadata,
        "rules": list(rules),
    }


@asynccontextmanager
async def program(*rules: Document) -> AsyncIterator[tuple[Client, Client, BuiltInRights]]:
    """The program, its administrator, and its rights."""
    server = Server.open(None, clock=loop_clock())
    admin = Client(server.transport(ADMIN))
    rights = BuiltInRights(server.store, PROGRAM, rules, [LABEL])
    server.access.grants.built_in = rights
    try:
        async with run_services(server=server.run):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
            with suppress(AlreadyExists):
                await admin.create(NAMESPACES, namespace)
            for name in ("a", "b"):
                metadata = {"name": name, "namespace": "default"}
                document: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                await admin.create(CONFIG_MAPS, document)
            yield Client(server.transport(PROGRAM), field_manager="program"), admin, rights
    finally:
        server.close()


async def test_a_program_has_exactly_the_permissions_of_its_rules() -> None:
    async with program(rule(CONFIG_MAPS, *READ)) as (client, _, rights):
        for _ in range(2):  # the second time it is known
            assert (await client.get(CONFIG_MAPS, KEY))["metadata"]["name"] == "a"
            assert len((await client.list(CONFIG_MAPS, "default")).items) >= 2
            with pytest.raises(Forbidden, match='"program" cannot patch resource "configmaps"'):
                await client.patch(CONFIG_MAPS, KEY, {"data": {"a": "b"}})
            with pytest.raises(Forbidden, match='cannot list resource "secrets"'):
                await client.list(SECRETS, "default")
        assert set(rights.denied_requests) == {
            ("patch", "", "configmaps", ""),
            ("list", "", "secrets", ""),
        }


async def test_applying_a_new_object_needs_the_create_permission() -> None:
    wanted = {"data": {"a": "b"}}
    async with program(rule(CONFIG_MAPS, "get", "patch")) as (client, _, _):
        await client.apply(CONFIG_MAPS, named("a", **wanted), field_manager="program")
        with pytest.raises(Forbidden, match="cannot create"):
            await client.apply(CONFIG_MAPS, named("c", **wanted), field_manager="program")


def named(name: str, **more: Any) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


async def test_labelled_roles_extend_an_aggregated_role_until_they_are_deleted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with program() as (client, admin, _):
        with pytest.raises(Forbidden):
            await client.get(CONFIG_MAPS, KEY)
        assert f"a ClusterRole with the label {LABEL} grants it" in caplog.text
        await admin.create(ROLES, role(rule(CONFIG_MAPS, "get"), value="false"))
        with pytest.raises(Forbidden):
            await client.get(CONFIG_MAPS, KEY)
        labels = {"metadata": {"labels": {LABEL: "true"}}}
        await admin.patch(ROLES, Key("", "a"), labels)
        await client.get(CONFIG_MAPS, KEY)
        await admin.delete(ROLES, Key("", "a"))
        with pytest.raises(Forbidden):
            await client.get(CONFIG_MAPS, KEY)


async def test_a_right_to_one_object_is_none_to_others() -> None:
    only = rule(CONFIG_MAPS, "get", resourceNames=["a"])
    async with program(only) as (client, _, _):
        for _ in range(2):
            await client.get(CONFIG_MAPS, KEY)
            with pytest.raises(Forbidden):
                await client.get(CONFIG_MAPS, Key("default", "b"))


async def test_another_user_has_none_of_the_built_in_permissions() -> None:
    async with program(rule(CONFIG_MAPS, *READ)) as (_, admin, _):
        other = User("other", PROGRAM.groups)
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
        }
        request = {"verb": "get", "resource": "configmaps", "namespace": "default"}
        kind = Resource(
            "authorization.k8s.io",
            "v1",
            "subjectaccessreviews",
            "SubjectAccessReview",
            namespaced=False,
        )
        result = {}
        for user in (PROGRAM, other):
            spec = {"user": user.name, "groups": list(user.groups), "resourceAttributes": request}
            answer = await admin.create(kind, {**review, "spec": spec})
            result[user.name] = answer["status"]["allowed"]
        assert result == {"program": True, "other": False}
