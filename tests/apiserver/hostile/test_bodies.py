"""Bodies that a parser, a decoder or a patch could break its neck on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, config_map, gizmo, running

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BEGINNING = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":'
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
DOUBLING = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n  k{n}: 1\n" for n in range(1, 40)
)
BODIES: dict[str, tuple[str, bytes]] = {
    "nothing": (JSON, b""),
    "no value": (JSON, b" "),
    "no object": (JSON, b"[]"),
    "a text": (JSON, b'"x"'),
    "null": (JSON, b"null"),
    "a control character": (JSON, BEGINNING + b'{"a":"\x01"}}'),
    "a kind that is no text": (JSON, b'{"apiVersion":"v1","kind":1}'),
    "a version that is no text": (JSON, b'{"apiVersion":["v1"],"kind":"ConfigMap"}'),
    "half an object": (JSON, BEGINNING),
    "two objects": (JSON, BEGINNING + b"{}}{}"),
    "10,000 levels": (JSON, BEGINNING + b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}"),
    "10,000 levels, open": (JSON, b'{"a":' * 10_000),
    "no number": (JSON, BEGINNING + b'{"a":NaN}}'),
    "infinity": (JSON, BEGINNING + b'{"a":-Infinity}}'),
    "a number beyond floats": (JSON, BEGINNING + b'{"a":1e999}}'),
    "a number of 5,000 digits": (JSON, BEGINNING + b'{"a":' + b"9" * 5000 + b"}}"),
    "200,000 levels of YAML": (YAML, b"[" * 200_000),
    "200,000 lists on a line": (YAML, b"- " * 200_000),
    "5,000 levels of YAML": (YAML, b"{a: " * 5000 + b"}" * 5000),
    "aliases of aliases": (YAML, BOMB.encode()),
    "merges of merges": (YAML, DOUBLING.encode()),
    "an alias of itself": (YAML, b"&a [*a]"),
    "an unknown alias": (YAML, b"a: *b"),
    "an object of Python": (YAML, b"a: !!python/object/apply:os.system ['true']"),
    "an unknown tag": (YAML, b"a: !x y"),
    "a key that is a map": (YAML, b"? {a: b}\n: c"),
    "no number in YAML": (YAML, b"a: !!int x"),
    "not a number in YAML": (YAML, b"a: .nan"),
    "NUL in YAML": (YAML, b"a: \x00"),
    "two documents": (YAML, b"a: b\n---\nc: d"),
    "protobuf without an object": (PROTOBUF, b"k8s\0"),
    "damaged protobuf": (PROTOBUF, b"k8s\0" + bytes(range(256))),
    "cut protobuf": (PROTOBUF, b"k8s\0\n\x0b\n\x02v1\x12\tConfigMap\x12\xff\xff\xff\xff\x0f"),
    "endless protobuf": (PROTOBUF, b"k8s\0\n\x0b\n\x02v1\x12\tConfigMap\x12" + b"\xff" * 99),
}


NAMELESS = ("null", "an object of Python", "an unknown tag", "two documents")
"""Objects without a name, as on kube-apiserver: unknown tags mean nothing, and the first document
counts."""


async def test_a_body_that_is_no_object_is_a_bad_request() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("there"))
        for what, (media, body) in BODIES.items():
            for method, path in (("POST", CONFIG_MAPS), ("PUT", f"{CONFIG_MAPS}/there")):
                status, answer = await asking.ask(method, path, body, media)
                wrong = 422 if method == "POST" and what in NAMELESS else 400
                assert (status, answer["kind"]) == (wrong, "Status"), (what, method, answer)
            if media == YAML:
                applied = {"fieldManager": "x"}
                status, _ = await asking.ask("PATCH", path, body, APPLY_PATCH, **applied)
                assert status == 400, what


@pytest.mark.parametrize(
    ("text", "text_stored"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (b'"\xff"', "\ufffd"),
        (rb'"\u0000"', "\x00"),
        (b'"\xf0\x9f\x98\x80"', "\U0001f600"),
    ],
    ids=["half a surrogate", "no UTF-8", "NUL", "beyond the first plane"],
)
async def test_text_that_go_reads_is_stored_as_go_reads_it(text: bytes, text_stored: str) -> None:
    async with running() as asking:
        config_maps = await asking.create(CONFIG_MAPS, BEGINNING + b'{"a":' + text + b"}}")  # type: ignore[arg-type]
        assert config_maps["data"] == {"a": text_stored}
        assert (await asking.get(f"{CONFIG_MAPS}/a"))["data"] == {"a": text_stored}


async def test_duplicate_fields_cause_warnings_and_the_last_one_counts() -> None:
    async with running() as asking:
        config_maps = await asking.create(CONFIG_MAPS, BEGINNING + b'{"a":"1","a":"2"}}')  # type: ignore[arg-type]
        assert config_maps["data"] == {"a": "2"}


async def test_warnings_fit_into_headers_however_many_and_strange_they_are() -> None:
    from kapy.kube.http import Request

    names = [f"unknown{at}" for at in range(5000)] + ["a\r\nX-Injected: yes", "\x00", "é"]
    body = json.dumps({**config_map("a"), **dict.fromkeys(names, 1)}).encode()
    async with running() as asking:
        headers = {"content-type": JSON}
        reply = await asking.transport(Request("POST", CONFIG_MAPS, {}, headers, body))
        message = reply.headers["warning"]
    assert reply.status == 201
    assert len(message) < 10_000
    assert "Injected" not in message
    assert "\x00" not in message


PATCHES: list[tuple[str, Any]] = [
    (JSON_PATCH, {"op": "add"}),
    (JSON_PATCH, [1]),
    (JSON_PATCH, [None]),
    (JSON_PATCH, ["add"]),
    (JSON_PATCH, [{}]),
    (JSON_PATCH, [{"op": 1, "path": 2}]),
    (JSON_PATCH, [{"op": "add", "path": "/data/x/y/z", "value": 1}]),
    (JSON_PATCH, [{"op": "remove", "path": "/metadata"}]),
    (JSON_PATCH, [{"op": "copy", "from": None, "path": "/data/x"}]),
    (JSON_PATCH, [{"op": "replace", "path": "", "value": 1}]),
    (JSON_PATCH, [{"op": "test", "path": "/data/x", "value": 1}] * 10_001),
    (JSON_PATCH, [{"op": "copy", "from": "/data", "path": "/data/x"}] * 64),
    (MERGE_PATCH, [1]),
    (MERGE_PATCH, {"metadata": 1}),
    (MERGE_PATCH, {"data": {"a": {"b": {}}}}),
    (MERGE_PATCH, {"kind": 1, "apiVersion": []}),
    (STRATEGIC_MERGE_PATCH, "x"),
    (STRATEGIC_MERGE_PATCH, {"$patch": 1}),
    (STRATEGIC_MERGE_PATCH, {"metadata": {"$retainKeys": 1}}),
    (STRATEGIC_MERGE_PATCH, {"metadata": {"$retainKeys": [{}]}}),
    (STRATEGIC_MERGE_PATCH, {"metadata": {"ownerReferences": [1]}}),
    (STRATEGIC_MERGE_PATCH, {"metadata": {"$setElementOrder/finalizers": {"a": 1}}}),
    (
        STRATEGIC_MERGE_PATCH,
        {"metadata": {"$setElementOrder/ownerReferences": [1], "ownerReferences": 1}},
    ),
    (APPLY_PATCH, []),
    (APPLY_PATCH, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [1]}}),
    (APPLY_PATCH, {"apiVersion": 1, "kind": [], "metadata": "x"}),
    (APPLY_PATCH, {**config_map("a"), "data": {"a": 1}}),
    (APPLY_PATCH, {**config_map("a"), "unknown": {}}),
]


async def test_an_impossible_patch_is_refused_and_changes_nothing() -> None:
    async with running() as asking:
        before = await asking.create(CONFIG_MAPS, config_map("a"))
        for media, patch in PATCHES:
            body = json.dumps(patch).encode()
            query = {"fieldManager": "x"} if media == APPLY_PATCH else {}
            status, answer = await asking.ask("PATCH", f"{CONFIG_MAPS}/a", body, media, **query)
            # kube-apiserver answers some mistakes with 500, without a reason, and so do we.
            foreseen = 400 <= status < 500 or "reason" not in answer
            assert foreseen, (media, patch, answer)
        assert await asking.get(f"{CONFIG_MAPS}/a") == before


@pytest.mark.parametrize(
    "options",
    [
        {"preconditions": 1.5},
        {"preconditions": {"uid": []}},
        {"gracePeriodSeconds": "soon"},
        {"dryRun": "All"},
        {"dryRun": [1]},
        {"propagationPolicy": 1},
        {"orphanDependents": "no"},
        {"kind": 5},
        [],
        "x",
    ],
)
async def test_fields_of_delete_options_are_typed(options: Any) -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        status, _ = await asking.ask("DELETE", f"{CONFIG_MAPS}/a", json.dumps(options).encode())
        assert status in (400, 422)
        await asking.get(f"{CONFIG_MAPS}/a")


@pytest.mark.parametrize("spec", [1, [], {"replicas": "x"}, {"replicas": 2**31}, {"replicas": 1.5}])
async def test_fields_of_a_scale_are_typed(spec: Any) -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}}
    async with running() as asking:
        before = await asking.create(GIZMOS, gizmo("a"))
        body = json.dumps({**scale, "spec": spec}).encode()
        for method, media in (("PUT", JSON), ("PATCH", MERGE_PATCH)):
            status, _ = await asking.ask(method, f"{GIZMOS}/a/scale", body, media)
            assert status in (400, 422), method
        assert await asking.get(f"{GIZMOS}/a") == before
