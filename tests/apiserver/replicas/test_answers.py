"""A replica answers as the server does: the same requests to both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kapy.apiserver.store.watch_cache import WatchCache
from tests.apiserver.network_client import Calls
from tests.apiserver.replicas.beside import Beside, replicated
from tests.apiserver.requester import CONFIG_MAPS, CRDS, GIZMO, GIZMOS, config_map, gizmo

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
READS: list[tuple[str, Any]] = [
    (f"{GIZMOS}/a", {}),
    (f"{GIZMOS}/a", {"accept": "application/json"}),
    (f"{GIZMOS}/a", {"accept": TABLE}),
    (f"{GIZMOS}/a", {"accept": METADATA}),
    (f"{GIZMOS}/a", {"accept": "application/yaml"}),
    (f"{GIZMOS}/a", {"accept": "text/plain"}),
    (f"{GIZMOS}/a/status", {}),
    (f"{GIZMOS}/a/scale", {}),
    (f"{GIZMOS}/a?resourceVersion=999999", {}),
    (f"{GIZMOS}/a?resourceVersion=x", {}),
    (f"{GIZMOS}/lost", {}),
    (GIZMOS, {}),
    (f"{GIZMOS}?limit=1", {}),
    (f"{GIZMOS}?labelSelector=odd%3Dyes", {}),
    (f"{GIZMOS}?fieldSelector=spec.color%3Dblue", {}),
    (f"{GIZMOS}?fieldSelector=spec.size%3D1", {}),
    (f"{GIZMOS}?resourceVersion=1&resourceVersionMatch=Exact", {}),
    (f"{GIZMOS}?continue=nonsense", {}),
    ("/apis/example.dev/v1/gizmos", {"accept": TABLE}),
    (CONFIG_MAPS, {}),
    (f"{CONFIG_MAPS}/c", {}),
    ("/api/v1/nodes", {}),
    ("/apis/example.dev/v2/gizmos", {}),
    ("/api/v1/namespaces/default/pods/p/log", {}),
    ("/api", {}),
    ("/apis", {}),
    ("/apis", {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}),
    ("/apis/example.dev", {}),
    ("/apis/example.dev/v1", {}),
    ("/apis/nowhere.dev/v1", {}),
    ("/openapi/v3/apis/example.dev/v1", {}),
    ("/openapi/v3/nowhere", {}),
    ("/openapi/v3", {}),
    ("/version", {}),
    ("/healthz", {}),
    ("/readyz/nothing", {}),
    ("/nowhere", {}),
    ("/openid/v1/jwks", {}),
]
DOCUMENTS = [
    (GIZMOS, gizmo("a", color="red")),
    (GIZMOS, {**gizmo("b", color="blue"), "metadata": {"name": "b", "labels": {"odd": "yes"}}}),
    (CONFIG_MAPS, config_map("c")),
]
OWN = frozenset({"audit-id"})


async def answers(calls: Calls, method: str, target: str, headers: Any, token: str) -> Any:
    answer = await calls.call(method, target, token=token, **headers)
    shown = {name: value for name, value in answer.headers.items() if name not in OWN}
    return answer.status, shown, answer.content


@pytest.mark.parametrize("token", ["root", "ann", "", "wrong"])
@pytest.mark.parametrize("on_disk", [True, False])
async def test_a_replica_gives_the_answers_of_the_server(
    tmp_path: Path, token: str, *, on_disk: bool
) -> None:
    place = tmp_path if on_disk else None
    async with replicated(place, documents=DOCUMENTS) as (asking, (beside,)):
        replica, server = await beside.open(), Calls(asking.server)
        for target, headers in READS:
            for method in ("GET", "HEAD"):
                case = (method, target, headers, token)
                assert await answers(replica, *case) == await answers(server, *case), case


async def test_only_plain_reads_are_answered_by_a_replica() -> None:
    async with replicated(documents=DOCUMENTS) as (_, (beside,)):
        replica = await beside.open()
        for target, headers in READS:
            await replica.call("GET", target, **headers)
        assert beside.forwarded == [
            f"GET {GIZMOS}/a/scale",
            f"GET {GIZMOS}",  # a revision that the replica has never had
            "GET /apis/example.dev/v2/gizmos",
            "GET /api/v1/namespaces/default/pods/p/log",
            "GET /healthz",
            "GET /readyz/nothing",
            "GET /nowhere",
            "GET /openid/v1/jwks",
        ]


async def test_writes_through_a_replica_are_those_of_the_server() -> None:
    async with replicated(documents=DOCUMENTS) as (asking, (beside,)):
        replica = await beside.open()
        for method, target, body, status in (
            ("POST", GIZMOS, gizmo("d", color="green"), 422),
            ("POST", GIZMOS, gizmo("d", color="red"), 201),
            ("POST", GIZMOS, gizmo("d", color="red"), 409),
            ("PUT", f"{GIZMOS}/lost", gizmo("lost"), 404),
            ("DELETE", f"{GIZMOS}/d", None, 200),
            ("POST", f"{GIZMOS}/d", b"{", 400),
        ):
            assert (await replica.call(method, target, body)).status == status, (method, target)
        assert await asking.names(GIZMOS) == ["a", "b"]
        assert (await replica.call("GET", f"{GIZMOS}/d")).status == 404


async def test_a_new_kind_and_its_end_are_seen_at_once() -> None:
    async with replicated(documents=DOCUMENTS) as (asking, (beside,)):
        replica = await beside.open()
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.dev"
        await asking.delete(path)
        assert (await replica.call("GET", GIZMOS)).status == 404
        assert (await replica.call("GET", "/apis/example.dev")).status == 404


async def test_discovery_has_one_order_and_one_hash_in_all_processes() -> None:
    def definition(group: str, **properties: Any) -> Any:
        schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        changed = {"group": group, "versions": [version]}
        return {
            **GIZMO,
            "metadata": {"name": f"gizmos.{group}"},
            "spec": {**GIZMO["spec"], "names": {"plural": "gizmos", "kind": "Gizmo"}, **changed},
        }

    async def hashes(calls: Calls) -> Any:
        return (await calls.call("GET", "/openapi/v3")).body["paths"]

    path, integer = "apis/early.dev/v1", {"type": "integer"}
    async with replicated() as (asking, (beside,)):
        await asking.create(CRDS, definition("early.dev"))  # after example.dev
        replica, server = await beside.open(), Calls(asking.server)
        before = await hashes(server)
        for calls in (replica, server):
            groups = (await calls.call("GET", "/apis")).body["groups"]
            assert [group["name"] for group in groups[-2:]] == ["early.dev", "example.dev"]
            assert await hashes(calls) == before
        spec = definition("early.dev", size=integer)["spec"]
        await asking.merge(f"{CRDS}/gizmos.early.dev", {"spec": spec})
        after = await hashes(replica)
        assert after == await hashes(server)
        assert {name for name in after if after[name] != before[name]} == {path}


async def test_a_default_of_a_new_definition_is_in_objects_that_were_stored_before() -> None:
    async with replicated(documents=[(GIZMOS, gizmo("a", color="red"))]) as (asking, (beside,)):
        replica = await beside.open()
        await asking.create(GIZMOS, gizmo("b", color="red"))  # never decoded in the replica
        for name in ("a", "b"):
            assert "size" not in (await replica.call("GET", f"{GIZMOS}/{name}")).body["spec"]
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.dev"
        definition = await asking.get(path)
        (version,) = definition["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        added = {**properties, "size": {"type": "integer", "default": 3}}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": added}}}
        changed = {**version, "schema": {"openAPIV3Schema": schema}}
        await asking.merge(path, {"spec": {"versions": [changed]}})
        for calls in (replica, Calls(asking.server)):
            for name in ("a", "b"):
                assert (await calls.call("GET", f"{GIZMOS}/{name}")).body["spec"]["size"] == 3


async def test_rights_count_at_once() -> None:
    async with replicated(documents=DOCUMENTS) as (asking, (beside,)):
        replica = await beside.open()
        assert (await replica.call("GET", GIZMOS, token="ann")).status == 403
        binding = {
            "metadata": {"name": "ann"},
            "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {
                "kind": "ClusterRole",
                "name": "cluster-admin",
                "apiGroup": "rbac.authorization.k8s.io",
            },
        }
        bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        await asking.create(bindings, {**binding, "kind": "ClusterRoleBinding"})
        assert (await replica.call("GET", GIZMOS, token="ann")).status == 200
        await asking.delete(f"{bindings}/ann")
        assert (await replica.call("GET", GIZMOS, token="ann")).status == 403


async def test_users_and_groups_that_the_plane_decides_on_are_forwarded() -> None:
    async with replicated(documents=DOCUMENTS) as (_, (beside,)):
        replica = await beside.open(forwarded_users=["ann"], forwarded_groups=["example.dev"])
        await replica.call("GET", CONFIG_MAPS, token="ann")
        await replica.call("GET", GIZMOS)
        await replica.call("GET", CONFIG_MAPS)
        await replica.call("GET", CONFIG_MAPS, impersonate_user="ann")
        assert beside.forwarded == [f"GET {CONFIG_MAPS}", f"GET {GIZMOS}", f"GET {CONFIG_MAPS}"]


async def test_a_list_that_continues_before_the_replica_began_is_forwarded() -> None:
    async with replicated(documents=DOCUMENTS) as (asking, (beside,)):
        page = (await Calls(asking.server).call("GET", f"{GIZMOS}?limit=1")).body
        await asking.create(GIZMOS, gizmo("aa"))
        replica = await beside.open()
        token = page["metadata"]["continue"]
        rest = (await replica.call("GET", f"{GIZMOS}?continue={token}")).body
        assert [item["metadata"]["name"] for item in rest["items"]] == ["b"]
        assert beside.forwarded == [f"GET {GIZMOS}"]


async def test_a_revision_that_no_process_has_is_gone() -> None:
    async with replicated(documents=DOCUMENTS) as (asking, (beside,)):
        asking.server.store.history = WatchCache(1, asking.server.store.revision)
        replica = await beside.open()
        answer = await replica.call("GET", f"{GIZMOS}?watch=1&resourceVersion=101")
        assert b'"code":410' in answer.content
        assert beside.forwarded == [f"GET {GIZMOS}"]


async def test_a_replica_refuses_writes_of_its_own() -> None:
    async with replicated() as (_, (beside,)):
        await beside.open()
        table = beside.store.table("configmaps")
        with pytest.raises(Exception, match="read-only"):
            beside.store.put(table, "default", "a", config_map("a"))
        with pytest.raises(Exception, match="read-only"):
            beside.store.delete(table, "default", "a", config_map("a"))


def content_of(beside: Beside) -> dict[str, Any]:
    return {table.name: table.content("") for table in beside.store.tables() if len(table)}


async def test_writes_while_the_content_is_sent_are_in_the_replica(tmp_path: Path) -> None:
    documents = [(CONFIG_MAPS, config_map(f"c-{at:03}", labels={"x": "y" * 60})) for at in range(9)]
    async with replicated(tmp_path, documents=documents) as (asking, (beside,)):

        async def write() -> None:
            """Write while a part of the content is under way."""
            number = len(names)
            names.append(f"new-{number}")
            await asking.create(CONFIG_MAPS, config_map(f"new-{number}"))
            await asking.delete(f"{CONFIG_MAPS}/c-00{number % 9}")
            await asking.merge(f"{CONFIG_MAPS}/new-{number}", {"data": {"a": str(number)}})

        names: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kapy.apiserver.store.replica.BATCH", 2000)
            await beside.feed.add(beside.replicate, write)
        await beside.store.complete.wait()
        store = asking.server.store
        assert 3 <= len(names) <= 9
        assert content_of(beside) == {
            table.name: table.content("") for table in store.tables() if len(table)
        }
        assert beside.store.revision == store.revision
