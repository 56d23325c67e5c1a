"""The life of a version of a CRD, with a migrator at each step, as in upstream's test."""

from __future__ import annotations

import asyncio

import pytest

from kapy.engine.crd_migration import PHASES, Phase
from kapy.kube.errors import Conflict, Invalid, NotFound, ServerError
from kapy.kube.names import CRDS
from tests.engine.crd_migration.world import KIND, NAME, OLD, T1, T2, T3, T4, World, world

UNIT, OTHER = "unit", "other"
PATH = KIND.path("default", "one")
CRD = CRDS.path("", NAME.name)


@pytest.mark.parametrize("through_status", [False, True])
@pytest.mark.parametrize("skipped", [[], [PHASES[0]], [PHASES[1]]], ids=str)
async def test_a_version_is_added_migrated_and_removed(
    skipped: list[Phase], through_status: bool
) -> None:
    migrates, cleans = (phase not in skipped for phase in PHASES)
    kinds = {NAME.name: through_status}
    async with world() as here:
        await here.install(T1)
        async with here.migrator(kinds, skipped=skipped):
            assert await here.stored() == ["v1beta1"]
            assert await here.observed() == "1"
            for name in ("one", "two"):
                await here.apply(OLD, name, UNIT, foo="foo")

        await here.install(T2)
        assert await here.stored() == ["v1beta1", "v1beta2"]
        async with here.migrator(kinds, skipped=skipped) as watched:
            assert await here.stored() == (["v1beta2"] if migrates else ["v1beta1", "v1beta2"])
            assert await here.observed() == "2"
            assert (f"{PATH}/status" in dict(watched.writes)) == (migrates and through_status)
            assert (PATH in dict(watched.writes)) == (migrates and not through_status)
            await here.apply(KIND, "two", OTHER, bar="bar")
            await here.apply(KIND, "three", UNIT, foo="foo")
        before = {
            "one": [(UNIT, "v1beta1")],
            "two": [(UNIT, "v1beta1"), (OTHER, "v1beta2")],
            "three": [(UNIT, "v1beta2")],
        }
        assert await by_manager(here) == before

        await here.install(T3)
        async with here.migrator(kinds, skipped=skipped):
            assert await here.observed() == "3"
        clean = {"one": [(UNIT, "v1beta2")], "two": [(OTHER, "v1beta2")], "three": before["three"]}
        assert await by_manager(here) == (clean if cleans else before)

        if not migrates:
            with pytest.raises(Invalid, match="storedVersions"):
                await here.install(T4)
            return
        await here.install(T4)
        async with here.migrator(kinds, skipped=skipped):
            assert await here.stored() == ["v1beta2"]
            assert await here.observed() == "4"
        if cleans:
            await goes_on(here)


async def goes_on(here: World) -> None:
    """Whoever applied in the old version goes on in the new one."""
    for name in ("one", "two", "three"):
        await here.apply(KIND, name, UNIT, foo="new")
    owners = await by_manager(here)
    assert owners["one"] == [(UNIT, "v1beta2")]
    assert owners["two"] == [(UNIT, "v1beta2"), (OTHER, "v1beta2")]


async def by_manager(here: World) -> dict[str, list[tuple[str, str]]]:
    return {name: sorted(owner, reverse=True) for name, owner in (await here.owners()).items()}


async def test_nothing_runs_where_all_phases_are_skipped() -> None:
    async with world() as here:
        await here.install(T1)
        async with here.migrator(skipped=PHASES) as watched:
            assert watched.requests == []
        assert await here.observed() is None


async def test_a_restart_writes_nothing_and_reads_no_objects() -> None:
    async with world() as here:
        await here.install(T2)
        await here.apply(KIND, "one", UNIT, foo="foo")
        async with here.migrator() as watched:
            assert [path for path, _ in watched.writes] == [CRD]
        before = await here.crd()
        async with here.migrator() as watched:
            assert watched.writes == []
            assert {request.path for request in watched.requests} == {CRDS.path()}  # the watch
            await here.client.patch(CRDS, NAME, {"metadata": {"labels": {"any": "one"}}})
            await asyncio.sleep(60)
            assert watched.writes == []
        assert (await here.crd())["metadata"]["generation"] == before["metadata"]["generation"]


async def test_crds_of_others_are_left_alone() -> None:
    async with world() as here:
        await here.install(T1)
        async with here.migrator({"somethings.else": False}) as watched:
            assert watched.writes == []
        assert await here.observed() is None


async def test_an_object_written_by_another_client_is_not_rewritten() -> None:
    async with world() as here:
        await here.install(T1)
        was = await here.apply(OLD, "one", UNIT, foo="foo")
        await here.install(T2)
        async with here.migrator(fails={PATH: [Conflict("somebody was quicker")]}) as watched:
            [body] = [body for path, body in watched.writes if path == PATH]
            version = was["metadata"]["resourceVersion"]
            identity = {"name": "one", "namespace": "default", "resourceVersion": version}
            kind = {"apiVersion": KIND.api_version, "kind": KIND.kind}
            assert body == {**kind, "metadata": identity}
            assert await here.stored() == ["v1beta2"]


async def test_a_deleted_object_needs_no_migration() -> None:
    async with world() as here:
        await here.install(T1)
        await here.apply(OLD, "one", UNIT, foo="foo")
        await here.install(T2)
        await here.install(T3)
        async with here.migrator(fails={PATH: [NotFound("gone"), NotFound("gone")]}):
            assert await here.stored() == ["v1beta2"]
            assert await here.observed() == "3"


async def test_entries_are_removed_from_the_object_that_another_client_left() -> None:
    async with world() as here:
        await here.install(T1)
        await here.apply(OLD, "one", UNIT, foo="foo")
        await here.install(T2)
        async with here.migrator():
            pass
        await here.install(T3)
        quicker: list[Exception] = [Conflict("somebody was quicker")] * 4
        async with here.migrator(fails={PATH: quicker}) as watched:
            assert [path for path, _ in watched.writes].count(PATH) == 5
            reads = [request.path for request in watched.requests if request.method == "GET"]
            assert reads.count(PATH) == 4
            assert (await here.owners())["one"] == [(UNIT, "v1beta2")]
            assert await here.observed() == "3"


async def test_a_migration_that_fails_in_part_continues_with_the_rest() -> None:
    async with world() as here:
        await here.install(T1)
        for name in ("one", "two"):
            await here.apply(OLD, name, UNIT, foo="foo")
        await here.install(T2)
        broken: list[Exception] = [ServerError("a webhook is away")]
        async with here.migrator(fails={PATH: broken}) as watched:
            written = [path for path, _ in watched.writes]
            assert written.count(PATH) == 2
            assert written.count(KIND.path("default", "two")) == 1
            assert await here.stored() == ["v1beta2"]


async def test_a_crd_that_changes_meanwhile_keeps_its_stored_versions() -> None:
    async with world() as here:
        await here.install(T1)
        await here.apply(OLD, "one", UNIT, foo="foo")
        await here.install(T2)
        status = f"{CRD}/status"
        async with here.migrator(fails={status: [Conflict("changed")]}) as watched:
            bodies = [body for path, body in watched.writes if path == status]
            assert len(bodies) == 2
            assert all(body["metadata"]["resourceVersion"] for body in bodies)
            assert [path for path, _ in watched.writes].count(PATH) == 1
            assert await here.stored() == ["v1beta2"]
