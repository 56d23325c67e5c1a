"""The behaviour of API servers that the client relies on."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.crds import crds, for_kubernetes
from kapy.client import client as client_module
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.engine.controller import Controller
from kapy.engine.reflector import Reflector
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.engine.store import Store
from kapy.kube import Document, Key
from kapy.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    Unauthorized,
)
from kapy.kube.names import CONFIG_MAPS, CRDS
from tests.real.installed import cluster
from tests.real.servers import Place
from tests.waiting import until

pytestmark = pytest.mark.sockets
END = "k8s.io/initial-events-end"


def config_map(namespace: str, name: str, **data: str) -> Document:
    metadata = {"name": name, "namespace": namespace, "labels": {"herd": "north"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def herd(client: Client, namespace: str, count: int) -> list[str]:
    """So many ConfigMaps; their names."""
    names = [f"capybara-{number}" for number in range(count)]
    for name in names:
        await client.create(CONFIG_MAPS, config_map(namespace, name))
    return names


async def test_every_definition_is_taken_as_it_is_printed(client: Client) -> None:
    for crd in crds():
        printed = for_kubernetes(crd)
        versions = [version["name"] for version in printed["spec"]["versions"]]
        document = await client.apply(CRDS, printed, field_manager="kapy-test", dry_run=True)
        assert [version["name"] for version in document["spec"]["versions"]] == versions


async def test_objects_are_made_changed_and_deleted_but_not_twice(
    client: Client, namespace: str
) -> None:
    key = Key(namespace, "capybara")
    config_maps = await client.create(CONFIG_MAPS, config_map(namespace, "capybara", grass="green"))
    with pytest.raises(AlreadyExists):
        await client.create(CONFIG_MAPS, config_map(namespace, "capybara"))
    changed = await client.patch(CONFIG_MAPS, key, {"data": {"grass": "brown", "water": "cold"}})
    assert changed["data"] == {"grass": "brown", "water": "cold"}
    stale = {
        "metadata": {"resourceVersion": config_maps["metadata"]["resourceVersion"]},
        "data": None,
    }
    with pytest.raises(Conflict):
        await client.patch(CONFIG_MAPS, key, stale)
    with pytest.raises(Conflict):
        await client.update(CONFIG_MAPS, {**config_maps, "data": {}})
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, key, uid="somebody-elses")
    await client.delete(CONFIG_MAPS, key, uid=config_maps["metadata"]["uid"])
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, key)


async def test_fields_have_owners(client: Client, namespace: str) -> None:
    mine = config_map(namespace, "capybara", grass="green")
    theirs = config_map(namespace, "capybara", grass="brown")
    await client.apply(CONFIG_MAPS, mine, field_manager="mine")
    with pytest.raises(Conflict, match="mine"):
        await client.apply(CONFIG_MAPS, theirs, field_manager="theirs", force=False)
    tried = await client.apply(CONFIG_MAPS, theirs, field_manager="theirs", dry_run=True)
    assert tried["data"] == {"grass": "brown"}
    config_maps = await client.get(CONFIG_MAPS, Key(namespace, "capybara"))
    assert config_maps["data"] == {"grass": "green"}
    await client.apply(CONFIG_MAPS, theirs, field_manager="theirs")
    config_maps = await client.get(CONFIG_MAPS, Key(namespace, "capybara"))
    assert config_maps["data"] == {"grass": "brown"}


async def test_invalid_requests_are_reported(client: Client, namespace: str) -> None:
    with pytest.raises(Invalid, match=r"metadata\.name"):
        await client.create(CONFIG_MAPS, config_map(namespace, "Not A Name"))
    with pytest.raises(NotFound, match="nowhere"):
        await client.create(CONFIG_MAPS, config_map("nowhere", "capybara"))
    with pytest.raises(BadRequest):
        await client.list(CONFIG_MAPS, namespace, labels="not a selector")


async def test_long_lists_come_in_pages(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = await herd(client, namespace, 7)
    monkeypatch.setattr(client_module, "PAGE", 3)
    listed = await client.list(CONFIG_MAPS, namespace, labels="herd=north")
    assert [document["metadata"]["name"] for document in listed.items] == names
    assert {document["kind"] for document in listed.items} == {"ConfigMap"}
    assert (await client.list(CONFIG_MAPS, namespace, labels="herd=south")).items == []
    maps = await client.list(CONFIG_MAPS, namespace, fields="metadata.name=capybara-4")
    assert [document["metadata"]["name"] for document in maps.items] == ["capybara-4"]


async def test_a_watch_reports_changes_after_a_list(client: Client, namespace: str) -> None:
    await herd(client, namespace, 1)
    listed = await client.list(CONFIG_MAPS, namespace)
    key, events_told = Key(namespace, "capybara-0"), []
    opened = client.watch(CONFIG_MAPS, namespace, resource_version=listed.resource_version)
    async with opened as events:
        await client.create(CONFIG_MAPS, config_map(namespace, "late"))
        await client.patch(CONFIG_MAPS, key, {"data": {"grass": "brown"}})
        await client.delete(CONFIG_MAPS, key)
        async for event in events:
            events_told.append((event.type, event.document["metadata"]["name"]))
            if event.type == "DELETED":
                break
    assert events_told == [("ADDED", "late"), ("MODIFIED", key.name), ("DELETED", key.name)]


async def test_a_watch_can_begin_with_all_that_is_there(client: Client, namespace: str) -> None:
    names, names_told = await herd(client, namespace, 3), []
    opened = client.watch(CONFIG_MAPS, namespace, labels="herd=north", initial_events=True)
    async with opened as events:
        async for event in events:
            if event.type == "BOOKMARK":
                assert event.document["metadata"]["annotations"] == {END: "true"}
                break
            names_told.append(event.document["metadata"]["name"])
    assert sorted(names_told) == names


async def test_a_page_of_a_compacted_revision_is_refused(client: Client, namespace: str) -> None:
    path, query = CONFIG_MAPS.path(namespace), {"limit": "1", "continue": "bm90IGEgdG9rZW4"}
    with pytest.raises((Expired, BadRequest)):
        await client.raw("GET", path, query)


@pytest.mark.usefixtures("installed")
async def test_a_watch_from_long_ago_is_too_old_and_begins_anew(
    client: Client, namespace: str
) -> None:
    """Of a kind that came late: of those that it began with, a new server knows everything."""
    kind, keys = Cluster.RESOURCE, [Key(namespace, f"capybara-{number}") for number in range(4)]
    for key in keys[:3]:
        await client.create(kind, cluster(key))
    with pytest.raises(Expired, match="too old resource version: 1 "):
        async with client.watch(kind, namespace, resource_version="1") as events:
            await anext(events)
    store = Store()
    late = Reflector(client, kind, store, Random(1), namespace=namespace, since="1")
    async with run_services(late=late.run):
        await until(lambda: store.is_synced)
        assert set(keys[:3]) <= store.objects.keys()
        await client.create(kind, cluster(keys[3]))
        await until(lambda: keys[3] in store.objects)
        assert late.failure is None


async def test_a_cache_from_an_old_revision_has_all_objects(
    there: Place, client: Client, namespace: str
) -> None:
    names_told: set[str] = set()

    async def reconcile(key: Key) -> Result:
        names_told.add(key.name)
        return DONE

    names = await herd(client, namespace, 3)
    transport = ApiTransport(there.access)
    runtime = Runtime.on(transport, clock=system_clock)
    maps = runtime.cache.informer(CONFIG_MAPS, labels="herd=north")
    runtime.add(Controller("maps", reconcile)).watch(maps)
    async with run_services(runtime=runtime.run):
        await until(lambda: names_told.issuperset(names))
        await client.create(CONFIG_MAPS, config_map(namespace, "late"))
        await until(lambda: "late" in names_told)
    await transport.aclose()


async def test_a_refusal_names_the_missing_permission(there: Place, namespace: str) -> None:
    nobody = replace(there.access, token="nobodys", client_certificate=b"", client_key=b"")
    stranger = replace(there.access, impersonate=(("Impersonate-User", "stranger"),))
    for access, error, message in (
        (nobody, Unauthorized, "Unauthorized"),
        (stranger, Forbidden, 'User "stranger" cannot list resource "configmaps"'),
    ):
        transport = ApiTransport(access)
        with pytest.raises(error, match=message):
            await Client(transport).list(CONFIG_MAPS, namespace)
        await transport.aclose()
