"""Custom resources in several versions, converted by a webhook."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.names import Resource
from tests.apiserver.requester import CRDS, GIZMO, Asking, taken
from tests.apiserver.webhooks.webhook_server import (
    Hooks,
    allow,
    bundle,
    configure,
    hook,
    plane,
    serving,
)

pytestmark = pytest.mark.sockets

V1 = "/apis/example.dev/v1/namespaces/default/things"
V2 = "/apis/example.dev/v2/namespaces/default/things"
_FIELD = {"v1": "host", "v2": "hostName"}


def definition(hooks: Hooks, **conversion: Any) -> Document:
    crd = copy.deepcopy(GIZMO)
    crd["metadata"]["name"] = "things.example.dev"
    spec = crd["spec"]
    spec["names"] = {"plural": "things", "kind": "Thing"}
    spec["versions"] = [
        {
            "name": version,
            "served": True,
            "storage": version == "v1",
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {field: {"type": "string"}}}
                    },
                }
            },
        }
        for version, field in _FIELD.items()
    ]
    client = {"url": f"{hooks.base}/convert", "caBundle": bundle()}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def thing(version: str, name: str, host: str) -> Document:
    return {
        "apiVersion": f"example.dev/{version}",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": {_FIELD[version]: host},
    }


def convert(request: Document, **metadata: Any) -> Document:
    """Rename the field; metadata: what is tampered with."""
    wanted = request["desiredAPIVersion"]
    converted = []
    for obj in request["objects"]:
        source = obj["apiVersion"].split("/")[1]
        host = obj["spec"][_FIELD[source]]
        spec = {_FIELD[wanted.split("/")[1]]: host}
        meta = {**obj["metadata"], **metadata}
        converted.append({**obj, "apiVersion": wanted, "metadata": meta, "spec": spec})
    return {"result": {"status": "Success"}, "convertedObjects": converted}


async def ready(asking: Asking, hooks: Hooks) -> None:
    hooks.answers["/convert"] = convert
    await asking.create(CRDS, definition(hooks))


async def test_all_objects_of_a_list_are_converted_in_one_call() -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        for name in ("a", "b", "c"):
            await asking.create(V1, thing("v1", name, name.upper()))
        assert hooks.asked("/convert") == []
        items = (await asking.get(V2))["items"]
        assert [item["spec"] for item in items] == [{"hostName": host} for host in "ABC"]
        (request,) = hooks.asked("/convert")
        assert len(request["objects"]) == 3


async def test_writes_and_watches_of_one_version_are_seen_in_the_other() -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        async with asking.watching(V2) as stream:
            await asking.create(V1, thing("v1", "a", "one"))
            assert await taken(stream, 1) == [("ADDED", "a")]
            await asking.merge(f"{V2}/a", {"spec": {"hostName": "two"}})
            event = await anext(stream)
            assert event["object"]["spec"] == {"hostName": "two"}
        assert (await asking.get(f"{V1}/a"))["spec"] == {"host": "two"}


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"name": "b"}, "returned invalid object: must have the same name: a != b"),
        ({"namespace": "n"}, "returned invalid object: must have the same namespace: default != n"),
        ({"uid": "u"}, "returned invalid object: must have the same UID: "),
        (
            {"labels": {"a": 1}},
            "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in "
            "converted object",
        ),
    ],
)
async def test_immutable_metadata_survives_a_conversion(metadata: Document, sentence: str) -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        await asking.create(V1, thing("v1", "a", "one"))
        hooks.answers["/convert"] = lambda request: convert(request, **metadata)
        status, body = await asking.ask("GET", f"{V2}/a")
        assert (status, "reason" in body) == (500, False)
        about = "conversion webhook for example.dev/v1, Kind=Thing"
        assert body["message"].startswith(f"{about} {sentence}")


async def test_a_conversion_may_change_only_labels_and_annotations_of_the_metadata() -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        await asking.create(V1, thing("v1", "a", "one"))
        hooks.answers["/convert"] = lambda request: convert(
            request, labels={"x": "y"}, finalizers=["other.dev/x"], generation=9
        )
        meta = (await asking.get(f"{V2}/a"))["metadata"]
        assert (meta["labels"], meta["generation"]) == ({"x": "y"}, 1)
        assert "finalizers" not in meta


async def test_an_admission_webhook_gets_an_equivalent_version() -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        hooks.answers["/a"] = hooks.answers["/exact"] = allow
        rule = {
            "apiGroups": ["example.dev"],
            "apiVersions": ["v2"],
            "operations": ["CREATE"],
            "resources": ["things"],
        }
        document = hook("a.hook.dev", f"{hooks.base}/a", rules=[rule])
        exact = hook("b.hook.dev", f"{hooks.base}/exact", rules=[rule], matchPolicy="Exact")
        await configure(asking, "validating", document, exact)
        await asking.create(V1, thing("v1", "a", "one"))
        (request,) = hooks.asked("/a")
        assert request["object"]["spec"] == {"hostName": "one"}
        assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v2", "v1")
        assert hooks.asked("/exact") == []


async def test_the_scale_of_a_version_is_read_by_its_own_paths() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/convert"] = convert
        crd = definition(hooks)
        for version in crd["spec"]["versions"]:
            field = _FIELD[version["name"]]
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"][field] = {"type": "integer"}
            paths = {"specReplicasPath": f".spec.{field}", "statusReplicasPath": ".status.x"}
            version["subresources"] = {"scale": paths}
        await asking.create(CRDS, crd)
        await asking.create(V1, {**thing("v1", "a", ""), "spec": {"host": 3}})
        assert (await asking.get(f"{V2}/a/scale"))["spec"] == {"replicas": 3}
        await asking.merge(f"{V2}/a/scale", {"spec": {"replicas": 5}})
        result = await asking.get(f"{V1}/a")
        assert result["spec"] == {"host": 5}
        owners = [
            (item["apiVersion"], item.get("subresource"), list(item["fieldsV1"]["f:spec"]))
            for item in result["metadata"]["managedFields"]
            if item["fieldsV1"].get("f:spec", {}).keys() & {"f:host", "f:hostName"}
        ]
        assert owners == [("example.dev/v2", "scale", ["f:hostName"])]


async def test_an_object_that_cannot_be_converted_is_not_deleted() -> None:
    async with serving() as hooks, plane() as asking:
        await ready(asking, hooks)
        await asking.create(V1, thing("v1", "a", "one"))
        hooks.answers["/convert"] = lambda request: {"result": {"status": "Failure"}}
        status, _ = await asking.ask("DELETE", f"{V2}/a")
        assert status == 500
        assert (await asking.get(f"{V1}/a"))["metadata"]["name"] == "a"


async def test_defaults_of_the_stored_version_are_there_in_every_version() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/convert"] = convert_all
        crd = definition(hooks)
        stored = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        stored["properties"]["host"]["default"] = "of v1"
        await asking.create(CRDS, crd)
        result = await asking.create(V2, {**thing("v2", "a", ""), "spec": {}})
        assert result["spec"] == {"hostName": "of v1"}
        assert (await asking.get(f"{V1}/a"))["spec"] == {"host": "of v1"}


async def test_parts_of_objects_are_converted_too() -> None:
    """Ownership of fields looks at objects from which most was taken."""
    async with serving() as hooks, plane() as asking:
        hooks.answers["/convert"] = convert_all
        await asking.create(CRDS, definition(hooks))
        source, target = (
            Resource("example.dev", item, "things", "Thing", namespaced=True)
            for item in ("v1", "v2")
        )
        empty = {"apiVersion": "example.dev/v1", "kind": "Thing"}
        (document,) = await asking.server.context.converter.convert_objects([empty], source, target)
        assert document == {**empty, "apiVersion": "example.dev/v2"}
        assert hooks.asked("/convert") == []
        part = {**empty, "spec": {"host": "one"}}
        (document,) = await asking.server.context.converter.convert_objects([part], source, target)
        assert (document["spec"], document["metadata"]) == ({"hostName": "one"}, {})


def convert_all(request: Document) -> Document:
    """Rename the field where it is."""
    wanted = request["desiredAPIVersion"].split("/")[1]
    objects = []
    for obj in request["objects"]:
        entries = {"metadata": {}, **obj, "apiVersion": request["desiredAPIVersion"]}
        if spec := obj.get("spec"):
            (value,) = spec.values()
            entries["spec"] = {_FIELD[wanted]: value}
        objects.append(entries)
    return {"result": {"status": "Success"}, "convertedObjects": objects}
