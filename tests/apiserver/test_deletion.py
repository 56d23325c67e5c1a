"""Deleting: finalizers, preconditions, owners, namespaces, definitions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.apiserver.requester import CONFIG_MAPS, CRDS, GIZMOS, Asking, config_map, gizmo, running

NAMESPACES = "/api/v1/namespaces"


def owned(name: str, owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A ConfigMap that another one owns."""
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **more,
    }
    return config_map(name, ownerReferences=[reference])


async def settled() -> None:
    """Let the controllers work off what happened: they are driven by events, so this is soon."""
    await asyncio.sleep(0.1)


async def test_finalizers_keep_an_object_until_the_last_is_removed() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a", finalizers=["x.dev/one", "x.dev/two"]))
        marked = await asking.delete(f"{CONFIG_MAPS}/a")
        assert "deletionTimestamp" in marked["metadata"]
        await asking.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["x.dev/two"]}})
        assert not await asking.gone(f"{CONFIG_MAPS}/a")
        await asking.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
        assert await asking.gone(f"{CONFIG_MAPS}/a")


async def test_finalizers_cannot_be_added_during_a_deletion() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a", finalizers=["x.dev/one"]))
        await asking.delete(f"{CONFIG_MAPS}/a")
        patch = {"metadata": {"finalizers": ["x.dev/one", "x.dev/new"]}}
        status, _ = await asking.ask(
            "PATCH", f"{CONFIG_MAPS}/a", patch, "application/merge-patch+json"
        )
        assert status == 422


@pytest.mark.parametrize("precondition", [{"uid": "another"}, {"resourceVersion": "1"}])
async def test_preconditions_prevent_the_deletion_of_another_object(
    precondition: dict[str, str],
) -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        status, _ = await asking.ask("DELETE", f"{CONFIG_MAPS}/a", {"preconditions": precondition})
        assert status == 409
        assert not await asking.gone(f"{CONFIG_MAPS}/a")


async def _family(asking: Asking, **more: Any) -> None:
    owner = await asking.create(CONFIG_MAPS, config_map("owner"))
    await asking.create(CONFIG_MAPS, owned("child", owner, **more))


async def test_children_are_deleted_with_their_owner() -> None:
    async with running() as asking:
        await _family(asking)
        await asking.delete(f"{CONFIG_MAPS}/owner")
        await settled()
        assert await asking.gone(f"{CONFIG_MAPS}/child")


async def test_orphans_stay_and_lose_their_reference() -> None:
    async with running() as asking:
        await _family(asking)
        await asking.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Orphan")
        await settled()
        assert await asking.gone(f"{CONFIG_MAPS}/owner")
        child = await asking.get(f"{CONFIG_MAPS}/child")
        assert "ownerReferences" not in child["metadata"]


async def test_a_foreground_owner_waits_for_the_children_that_block() -> None:
    async with running() as asking:
        owner = await asking.create(CONFIG_MAPS, config_map("owner"))
        child = owned("child", owner, blockOwnerDeletion=True)
        child["metadata"]["finalizers"] = ["x.dev/one"]
        await asking.create(CONFIG_MAPS, child)
        await asking.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Foreground")
        await settled()
        assert "deletionTimestamp" in (await asking.get(f"{CONFIG_MAPS}/child"))["metadata"]
        assert not await asking.gone(f"{CONFIG_MAPS}/owner")
        await asking.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
        await settled()
        assert await asking.gone(f"{CONFIG_MAPS}/owner")


async def test_a_child_of_an_owner_that_never_existed_is_deleted() -> None:
    async with running() as asking:
        nobody = config_map("nobody", uid="11111111-2222-3333-4444-555555555555")
        await asking.create(CONFIG_MAPS, owned("stray", nobody))
        await settled()
        assert await asking.gone(f"{CONFIG_MAPS}/stray")


async def test_a_grandchild_is_deleted() -> None:
    async with running() as asking:
        owner = await asking.create(CONFIG_MAPS, config_map("owner"))
        child = await asking.create(CONFIG_MAPS, owned("child", owner))
        await asking.create(CONFIG_MAPS, owned("grandchild", child))
        await asking.delete(f"{CONFIG_MAPS}/owner")
        await settled()
        assert await asking.names(CONFIG_MAPS) == []


async def test_a_namespace_is_deleted_with_its_content() -> None:
    async with running() as asking:
        await asking.create(NAMESPACES, {"metadata": {"name": "n"}})
        inside = f"{NAMESPACES}/n/configmaps"
        await asking.create(inside, config_map("a"))
        await asking.create(inside, config_map("held", finalizers=["x.dev/one"]))
        deleted = await asking.delete(f"{NAMESPACES}/n")
        assert deleted["status"]["phase"] == "Terminating"
        await settled()
        assert await asking.names(inside) == ["held"]
        status, body = await asking.ask("POST", inside, config_map("late"))
        assert (status, body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
        conditions = (await asking.get(f"{NAMESPACES}/n"))["status"]["conditions"]
        assert {condition["type"]: condition["status"] for condition in conditions}[
            "NamespaceContentRemaining"
        ] == "True"
        await asking.merge(f"{inside}/held", {"metadata": {"finalizers": None}})
        await settled()
        assert await asking.gone(f"{NAMESPACES}/n")


async def test_the_default_namespace_cannot_be_deleted() -> None:
    async with running() as asking:
        assert (await asking.ask("DELETE", f"{NAMESPACES}/default"))[0] == 403


async def test_a_crd_is_deleted_after_its_objects() -> None:
    async with running() as asking:
        held = gizmo("held")
        held["metadata"]["finalizers"] = ["x.dev/one"]
        await asking.create(GIZMOS, held)
        await asking.create(GIZMOS, gizmo("free"))
        await asking.delete(f"{CRDS}/gizmos.example.dev")
        assert await asking.names(GIZMOS) == ["held"]
        await asking.merge(f"{GIZMOS}/held", {"metadata": {"finalizers": None}})
        assert await asking.gone(f"{CRDS}/gizmos.example.dev")
        assert (await asking.ask("GET", GIZMOS))[0] == 404


async def test_deletecollection_deletes_the_selected_objects() -> None:
    async with running() as asking:
        for name, kind in (("a", "x"), ("b", "x"), ("c", "y")):
            await asking.create(CONFIG_MAPS, config_map(name, labels={"kind": kind}))
        status, _ = await asking.ask("DELETE", CONFIG_MAPS, labelSelector="kind=x")
        assert status == 200
        assert await asking.names(CONFIG_MAPS) == ["c"]
