"""The migration of objects with exactly the rights that it is granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kapy.apiserver.auth.rbac.built_in import BuiltInRights
from kapy.apiserver.auth.rbac.rules import allows
from kapy.apiserver.request.request_info import request_info
from kapy.apps.components.rules import rules_of
from kapy.kube import Key
from kapy.kube.errors import Conflict
from kapy.kube.http import User
from kapy.kube.names import CRDS, Resource
from kapy.sdk.provider import Right
from tests.apps.manager.test_rights import single
from tests.engine.crd_migration.world import World, world

USER: Final = User("system:serviceaccount:capi-system:manager", ("system:authenticated",))
STORED, OTHERS = "served stored", "served"


def versions(resource: Resource, older: str) -> dict[str, str]:
    return {"v0": older, resource.version: STORED}


async def an_old_object(here: World, resource: Resource) -> None:
    """An object that was applied and stored in a version that is not served any more."""
    old = replace(resource, version="v0")
    await here.install({"v0": STORED}, resource)
    await here.apply(old, "one", "unit", foo="foo")
    await here.install(versions(resource, OTHERS), resource)
    await here.install(versions(resource, ""), resource)


async def migrated(resources: Sequence[tuple[Resource, bool]], rights: Sequence[Right]) -> None:
    """Check that objects of these kinds are migrated with these rights, and that each is needed.

    resources: whether they are rewritten through the status subresource.
    """
    async with world() as here:
        kinds = {item.group_resource: status for item, status in resources}
        for resource, _ in resources:
            await an_old_object(here, resource)
        rules = rules_of(rights)
        granted = BuiltInRights(here.server.store, USER, rules)
        here.server.access.grants.built_in = granted
        # The write that comes first does not count: only the cleanup reads an object again.
        fails = {
            item.path("default", "one"): [Conflict("somebody was quicker")] * (1 if status else 2)
            for item, status in resources
        }
        async with here.migrator(kinds, user=USER, fails=fails) as watched:
            for resource, _ in resources:
                [owners] = (await here.owners(resource)).values()
                assert owners == [("unit", resource.version)]
                definition = await here.client.get(CRDS, Key("", resource.group_resource))
                assert definition["status"]["storedVersions"] == [resource.version]
            assert granted.denied_requests == []
            wanted = [request_info(request).attributes(USER) for request in watched.requests]
        unused = [
            document
            for rule in rules
            for document in single(rule)
            if not any(allows(document, attributes) for attributes in wanted)
        ]
        assert unused == []
