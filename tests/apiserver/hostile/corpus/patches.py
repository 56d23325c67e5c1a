"""Patches of every type, large themselves or of large objects."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.apiserver.hostile.corpus.case import (
    APPS,
    CORE,
    THINGS,
    Call,
    apply,
    case,
    config_map,
    delete,
    joined,
    json_patch,
    listed,
    mapped,
    members,
    merge_patch,
    pod,
    prepare,
    strategic,
    texts,
    thing,
)

OPERATIONS = 10_000
STORED = 350_000
"""Bytes of an object that later requests change: with its managedFields it can be stored."""


def _half(size: int) -> int:
    return min(size // 4, STORED)


def _env(size: int, prefix: str = "E", value: str = "v") -> str:
    return joined(size, lambda at: f'{{"name":"{prefix}{at}","value":"{value}"}}')


def _order(size: int, prefix: str = "E") -> str:
    return joined(size, lambda at: f'{{"name":"{prefix}{at}"}}')


def _pod_of(env: str) -> str:
    return f'"containers":[{{"name":"a","image":"i","env":[{env}]}}]'


def _patch_of(env: str, order: str = "", rest: str = "") -> str:
    ordered = f',"$setElementOrder/env":[{order}]' if order else ""
    return f'{{"spec":{{"containers":[{{"name":"a","env":[{env}]{ordered}{rest}}}]}}}}'


@case
def strategic_environment(size: int) -> Iterator[Call]:
    path, size = f"{CORE}/pods", _half(size)
    yield prepare(path, pod("p", _pod_of(_env(size))))
    pods = f"{path}/p?fieldValidation=Ignore".partition("?")[0]
    yield strategic(pods, _patch_of(_env(size, value="w")))
    yield strategic(pods, _patch_of(_env(size, prefix="F")))
    yield strategic(pods, _patch_of(_env(size), _order(size)))
    yield strategic(pods, _patch_of("", _order(size)))
    yield strategic(pods, _patch_of('{"name":"E0"}', _order(size, "X")))
    yield strategic(
        pods, _patch_of(joined(size, lambda at: f'{{"name":"E{at}","$patch":"delete"}}'))
    )
    yield strategic(pods, _patch_of(joined(size, lambda _: '{"$patch":"replace"}')))
    yield strategic(pods, _patch_of(joined(size, lambda _: "{}")))
    retained = joined(size, lambda at: f'"k{at}"')
    yield strategic(pods, _patch_of("", rest=f',"$retainKeys":[{retained}]'))
    members = joined(size // 2, lambda at: f'"k{at}":1')
    keys = joined(size // 2, lambda at: f'"k{at}"')
    yield strategic(pods, _patch_of("", rest=f',{members},"$retainKeys":[{keys}]'))
    yield delete(path)


@case
def strategic_environment_from_nothing(size: int) -> Iterator[Call]:
    path = f"{CORE}/pods"
    yield prepare(path, pod("p", _pod_of("")))
    yield strategic(f"{path}/p", _patch_of(_env(size)))
    yield strategic(f"{path}/p", _patch_of(joined(size, lambda _: '{"name":"E"}')))
    yield strategic(f"{path}/p", _patch_of(_env(size // 2), _order(size // 2)))
    yield delete(path)


@case
def strategic_lists_of_values(size: int) -> Iterator[Call]:
    path = f"{CORE}/configmaps"
    finalizers = joined(_half(size), lambda at: f'"a.b/f{at}"')
    yield prepare(path, config_map("c", f'"finalizers":[{finalizers}]'))
    text = f"{path}/c"
    more = joined(_half(size), lambda at: f'"a.b/g{at}"')
    yield strategic(text, f'{{"metadata":{{"finalizers":[{more}]}}}}')
    yield strategic(text, f'{{"metadata":{{"$setElementOrder/finalizers":[{finalizers}]}}}}')
    yield strategic(
        text, f'{{"metadata":{{"$deleteFromPrimitiveList/finalizers":[{finalizers}]}}}}'
    )
    mixed = joined(_half(size), lambda at: f"[{at}]")
    yield strategic(text, f'{{"metadata":{{"finalizers":[{mixed}]}}}}')
    yield merge_patch(text, '{"metadata":{"finalizers":null}}')
    yield delete(path)


@case
def strategic_owners(size: int) -> Iterator[Call]:
    path = f"{CORE}/configmaps"
    yield prepare(path, config_map("c"))
    owners = joined(size, _owner)
    yield strategic(f"{path}/c", f'{{"metadata":{{"ownerReferences":[{owners}]}}}}')
    removal = joined(size, lambda at: f'{{"$patch":"delete","uid":"u{at}"}}')
    yield strategic(f"{path}/c", f'{{"metadata":{{"ownerReferences":[{removal}]}}}}')
    yield delete(path)


def _owner(number: int, *, more: str = "") -> str:
    return f'{{"apiVersion":"v1","kind":"Node","name":"n{number}","uid":"u{number}"{more}}}'


@case
def strategic_deep(size: int) -> Iterator[Call]:
    path = f"{APPS}/deployments"
    template = f'{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{{_pod_of(_env(_half(size)))}}}}}'
    spec = f'"selector":{{"matchLabels":{{"a":"b"}}}},"template":{template}'
    body = pod("d", spec).replace('"v1","kind":"Pod"', '"apps/v1","kind":"Deployment"')
    yield prepare(path, body)
    patch = _patch_of(_env(_half(size), value="w"))
    yield strategic(f"{path}/d", f'{{"spec":{{"template":{patch}}}}}')
    nested = '{"metadata":' + '{"a":' * 250 + "1" + "}" * 251
    yield strategic(f"{path}/d", nested)
    yield delete(path)


def _list(size: int) -> str:
    return listed("any", joined(size, lambda _: "0"))


def _count(size: int) -> int:
    return min(size // 40, OPERATIONS)


def _operations(size: int, text: str) -> str:
    return ",".join([text] * _count(size))


@case
def json_patch_list_edits(size: int) -> Iterator[Call]:
    yield prepare(THINGS, thing("t", _list(_half(size))))
    path = f"{THINGS}/t"
    for at in ("0", "-", "100"):
        yield json_patch(
            path, _operations(size, f'{{"op":"add","path":"/spec/any/{at}","value":1}}')
        )
    yield json_patch(path, _operations(size, '{"op":"remove","path":"/spec/any/0"}'))
    yield json_patch(path, _operations(size, '{"op":"remove","path":"/spec/any/-1"}'))
    yield json_patch(path, _operations(size, '{"op":"replace","path":"/spec/any/5","value":1}'))
    yield json_patch(
        path, _operations(size, '{"op":"move","from":"/spec/any/0","path":"/spec/any/-"}')
    )
    yield json_patch(
        path, _operations(size, '{"op":"copy","from":"/spec/any/0","path":"/spec/any/0"}')
    )
    yield json_patch(path, _operations(size, '{"op":"test","path":"/spec/any/0","value":0}'))
    yield json_patch(path, _operations(size, '{"op":"move","from":"/spec","path":"/spec"}'))
    yield json_patch(
        path, _operations(size, '{"op":"copy","from":"/spec/any","path":"/spec/free"}')
    )
    yield json_patch(path, '{"op":"test","path":"","value":{}},' * (_count(size) - 1) + "{}")
    yield delete(THINGS)


@case
def json_patch_map_edits(size: int) -> Iterator[Call]:
    members = joined(_half(size), lambda at: f'"k{at}":0')
    yield prepare(THINGS, thing("t", f'"free":{{{members}}}'))
    path = f"{THINGS}/t"
    adds = (f'{{"op":"add","path":"/spec/free/n{at}","value":1}}' for at in range(_count(size)))
    yield json_patch(path, ",".join(adds))
    removes = (f'{{"op":"remove","path":"/spec/free/k{at}"}}' for at in range(_count(size)))
    yield json_patch(path, ",".join(removes))
    yield json_patch(
        path, _operations(size, '{"op":"replace","path":"/metadata/labels","value":{}}')
    )
    same = "/spec/free"
    yield json_patch(path, _operations(size, f'{{"op":"test","path":"{same}","value":{{}}}}'))
    yield delete(THINGS)


@case
def json_patch_long_paths(size: int) -> Iterator[Call]:
    yield prepare(THINGS, thing("t", '"free":{}'))
    path = f"{THINGS}/t"
    yield json_patch(path, f'{{"op":"add","path":"{"/a" * (size // 2)}","value":1}}')
    yield json_patch(path, f'{{"op":"add","path":"/spec/free/{"k" * size}","value":1}}')
    yield json_patch(path, f'{{"op":"add","path":"/spec/free/{"~1" * (size // 2)}","value":1}}')
    deep = "".join(f"/{'d' * 1000}" for _ in range(200))
    value = (
        '{"op":"add","path":"/spec/free","value":' + f'{{"{"d" * 1000}":' * 200 + "1" + "}" * 201
    )
    yield json_patch(path, value)
    count = max(1, size // (len(deep) + 50))
    yield json_patch(
        path, ",".join([f'{{"op":"replace","path":"/spec/free{deep}","value":2}}'] * count)
    )
    yield json_patch(path, f'{{"op":"add","path":"/spec/atoms/{"1" * size}","value":1}}')
    more = joined(size, lambda _: '{"op":"test","path":"/a","value":1}')
    yield json_patch(path, more)
    yield json_patch(path, joined(size, lambda _: "{}"))
    yield json_patch(path, joined(size, lambda _: "1"))
    yield delete(THINGS)


@case
def merge_patch_of_many(size: int) -> Iterator[Call]:
    members = joined(_half(size), lambda at: f'"k{at}":{{"a":1}}')
    yield prepare(THINGS, thing("t", f'"free":{{{members}}}'))
    path = f"{THINGS}/t"
    yield merge_patch(path, f'{{"spec":{{"free":{{{members}}}}}}}')
    changed = joined(_half(size), lambda at: f'"k{at}":{{"a":2}}')
    yield merge_patch(path, f'{{"spec":{{"free":{{{changed}}}}}}}')
    nulls = joined(_half(size), lambda at: f'"k{at}":null')
    yield merge_patch(path, f'{{"spec":{{"free":{{{nulls}}}}}}}')
    lists = joined(size, lambda _: "[null]")
    yield merge_patch(path, f'{{"spec":{{"free":{{"a":[{lists}]}}}}}}')
    deep = '{"spec":{"free":' + '{"a":' * 280 + "1" + "}" * 282
    yield merge_patch(path, deep)
    yield merge_patch(path, f"[{lists}]")
    yield merge_patch(f"{path}/status", f'{{"status":{{"a":[{lists}]}}}}')
    yield delete(THINGS)


@case
def applied_lists(size: int) -> Iterator[Call]:
    size = _half(size)
    path = f"{THINGS}/t"
    first = listed("map", joined(size, lambda at: _item(f"m{at}")))
    yield apply(path, thing("t", first))
    yield apply(path, thing("t", first))
    yield apply(path, thing("t", listed("map", joined(size, lambda at: _item(f"m{at}", "w")))))
    yield apply(path, thing("t", listed("map", joined(size, lambda at: _item(f"n{at}")))))
    yield apply(
        path,
        thing("t", listed("map", joined(size, lambda at: _item(f"n{at}", "x")))),
        "other",
        force=False,
    )
    yield apply(
        path, thing("t", listed("map", joined(size, lambda at: _item(f"n{at}", "x")))), "other"
    )
    yield apply(path, thing("t", '"map":[]'))
    yield apply(path, thing("t", listed("map", joined(size, lambda _: _item("same")))))
    yield apply(path, thing("t", listed("map", joined(size, lambda _: "{}"))))
    backwards = list(reversed(first[7:-1].split("},")))
    yield apply(
        path, thing("t", f'"map":[{"},".join(backward.rstrip("}") for backward in backwards)}}}]')
    )
    yield delete(THINGS)


def _item(name: str, value: str = "v") -> str:
    return f'{{"name":"{name}","value":"{value}"}}'


@case
def applied_sets(size: int) -> Iterator[Call]:
    size = _half(size)
    path = f"{THINGS}/t"
    yield apply(path, thing("t", listed("set", texts(size, "s{}"))))
    yield apply(path, thing("t", listed("set", texts(size, "r{}"))))
    yield apply(path, thing("t", listed("set", texts(size, "same"))))
    yield apply(path, thing("t", listed("numbers", joined(size, str))))
    yield apply(
        path, thing("t", listed("pairs", joined(size, lambda at: json.dumps({"port": at}))))
    )
    yield apply(path, thing("t", mapped("free", members(size, "k{}"))))
    yield apply(path, thing("t", mapped("dict", members(size, "k{}", chr(34) + "v" + chr(34)))))
    yield apply(path, thing("t", ""))
    yield delete(THINGS)


@case
def applied_over_repeats(size: int) -> Iterator[Call]:
    """Apply to a list that is stored with duplicate keys, which built-in kinds do not refuse."""
    path, size = f"{CORE}/pods", _half(size)
    yield prepare(path, pod("p", _pod_of(joined(size, lambda _: '{"name":"E"}'))))
    yield apply(f"{path}/p", pod("p", _pod_of('{"name":"E","value":"x"}')))
    yield apply(f"{path}/p", pod("p", _pod_of(_env(size))))
    yield delete(path)


@case
def applied_by_many_managers(size: int) -> Iterator[Call]:
    path = f"{THINGS}/t"
    members = joined(size // 20, lambda at: f'"k{at}":1')
    for number in range(20):
        yield apply(path, thing("t", f'"free":{{{members}}}'), f"m{number}")
    yield apply(path, thing("t", f'"free":{{{members.replace(":1", ":2")}}}'), "z", force=False)
    yield apply(path, thing("t", f'"free":{{{members.replace(":1", ":2")}}}'), "z")
    yield delete(THINGS)


@case
def applied_server_side_deployment(size: int) -> Iterator[Call]:
    path, size = f"{APPS}/deployments", _half(size)
    for value in ("v", "w"):
        template = (
            f'{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{{_pod_of(_env(size, value=value))}}}}}'
        )
        spec = f'"selector":{{"matchLabels":{{"a":"b"}}}},"template":{template}'
        body = pod("d", spec).replace('"v1","kind":"Pod"', '"apps/v1","kind":"Deployment"')
        yield apply(f"{path}/d", body)
    yield delete(path)


@case
def applied_services(size: int) -> Iterator[Call]:
    path, size = f"{CORE}/services", _half(size)
    ports = joined(size, lambda at: f'{{"name":"p{at}","port":{at % 65000 + 1}}}')
    body = pod("s", f'"ports":[{ports}]').replace('"Pod"', '"Service"')
    yield Call("POST", path, body.encode())
    yield apply(f"{path}/s", body)
    yield strategic(f"{path}/s", f'{{"spec":{{"ports":[{ports}]}}}}')
    yield delete(path)
