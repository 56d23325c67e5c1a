"""Large documents: JSON and YAML of every shape, created as custom and built-in objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.apiserver.hostile.corpus.case import (
    CORE,
    JSON,
    THINGS,
    YAML,
    Call,
    apply,
    case,
    config_map,
    create,
    joined,
    listed,
    mapped,
    pod,
    replace,
    texts,
    thing,
)

Shape = Callable[[int], str]

SHAPES: dict[str, Shape] = {
    "empty-lists": lambda size: mapped("free", listed("a", joined(size, lambda _: "[]"))),
    "empty-maps": lambda size: mapped("free", listed("a", joined(size, lambda _: "{}"))),
    "small-maps": lambda size: mapped("free", listed("a", joined(size, _small))),
    "ones": lambda size: mapped("free", listed("a", joined(size, lambda _: "1"))),
    "floats": lambda size: f'"free":{{"a":[{joined(size, lambda at: f"{at}.5")}]}}',
    "zeros": lambda size: f'"free":{{"a":{"1" * 300}.{"0" * size}1}}',
    "long-integer": lambda size: f'"free":{{"a":{"1" * size}}}',
    "nulls": lambda size: mapped("free", listed("a", joined(size, lambda _: "null"))),
    "keys": lambda size: f'"free":{{{joined(size, _member)}}}',
    "one-text": lambda size: f'"free":{{"a":"{"x" * size}"}}',
    "escapes": lambda size: f'"free":{{"a":"{chr(92) + "u0041"}{(chr(92) + "n") * (size // 2)}"}}',
    "half-surrogates": lambda size: f'"free":{{"a":"{(chr(92) + "ud83d") * (size // 6)}"}}',
    "texts": lambda size: mapped("free", listed("a", texts(size, "t{}"))),
    "deep": lambda size: mapped("free", listed("a", joined(size, lambda _: "[" * 200 + "]" * 200))),
    "too-deep": lambda size: f'"any":{"[" * (size // 2)}{"]" * (size // 2)}',
    "repeated-keys": lambda size: f'"free":{{{joined(size, lambda _: _quote("a", 1))}}}',
    "pairs-of-keys": lambda size: f'"free":{{{joined(size, lambda at: _quote(f"k{at // 2}", 1))}}}',
    "unknown": lambda size: joined(size, lambda at: _quote(f"u{at}", 1)),
    "unknown-below": lambda size: (
        f'"lists":{{"{"k" * (size // 2)}":[{joined(size // 2, lambda _: _map("x"))}]}}'
    ),
    "wrong-below": lambda size: (
        f'"lists":{{"{"k" * (size // 2)}":[{joined(size // 2, lambda _: _wrong())}]}}'
    ),
    "right-below": lambda size: (
        f'"lists":{{"{"k" * (size // 2)}":[{joined(size // 2, lambda _: _map("a"))}]}}'
    ),
    "wrong-numbers": lambda size: listed("atoms", joined(size, lambda _: "-1")),
    "wrong-types": lambda size: listed("atoms", joined(size, lambda _: "true")),
    "too-many": lambda size: listed("bounded", joined(size, lambda _: "1")),
    "words": lambda size: listed("words", texts(size, "w{}")),
    "wrong-words": lambda size: listed("words", texts(size, "W{}")),
    "wrong-colors": lambda size: listed("colors", joined(size, lambda _: chr(34) + "x" + chr(34))),
    "times": lambda size: listed("times", texts(size, "2026-01-01T00:00:00Z")),
    "alternatives": lambda size: listed("either", joined(size, lambda _: _map("a"))),
    "no-alternative": lambda size: listed("either", joined(size, lambda _: "{}")),
    "amounts": lambda size: listed("amounts", texts(size, "{}")),
    "objects": lambda size: listed("objects", joined(size, _object)),
    "objects-of-nothing": lambda size: listed("objects", joined(size, lambda _: "{}")),
    "set": lambda size: listed("set", texts(size, "s{}")),
    "set-of-repeats": lambda size: listed(
        "set", joined(size, lambda at: json.dumps(f"s{at // 2}"))
    ),
    "set-of-numbers": lambda size: listed("numbers", joined(size, str)),
    "map": lambda size: listed("map", joined(size, lambda at: _named(f"m{at}"))),
    "map-of-repeats": lambda size: listed("map", joined(size, lambda at: _named(f"m{at // 2}"))),
    "pairs": lambda size: listed("pairs", joined(size, lambda at: json.dumps({"port": at}))),
    "dict": lambda size: f'"dict":{{{joined(size, lambda at: _quote(f"k{at}", "v"))}}}',
    "defaults": lambda size: listed("filled", joined(size, lambda _: "{}")),
}
"""Members of a spec, by what they are made of."""


def _small(number: int) -> str:
    return json.dumps({"a": number, "b": []})


def _member(number: int) -> str:
    return _quote(f"k{number}", 1)


def _quote(name: str, value: object) -> str:
    return f'"{name}":{json.dumps(value)}'


def _map(name: str) -> str:
    return f'{{"{name}":1}}'


def _wrong() -> str:
    return '{"a":""}'


def _named(name: str) -> str:
    return f'{{"name":"{name}"}}'


def _object(number: int) -> str:
    return f'{{"apiVersion":"v1","kind":"Foo","metadata":{{"name":"o{number}"}}}}'


def _shape(name: str) -> None:
    def calls(size: int) -> Iterator[Call]:
        body = thing("big", SHAPES[name](size))
        yield create(THINGS, body)
        yield create(THINGS, thing("strict", SHAPES[name](size)), fieldValidation="Strict")
        yield replace(f"{THINGS}/big", body)
        yield Call("GET", f"{THINGS}/big", accept=TABLE)
        yield apply(f"{THINGS}/applied", thing("applied", SHAPES[name](size)))
        yield Call("GET", THINGS)
        yield Call("DELETE", THINGS)

    calls.__name__ = f"json_{name}"
    case(calls)


TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

for _name in SHAPES:
    _shape(_name)

YAMLS: dict[str, Shape] = {
    "block-of-blocks": lambda size: "- " * (size // 2) + "a",
    "blocks": lambda size: joined(size, lambda _: "- - - - - - - -", "\n"),
    "flow": lambda size: f"[{joined(size, lambda _: '[]')}]",
    "deep-flow": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "flow-maps": lambda size: f"[{joined(size, lambda _: '{a: b}')}]",
    "scalars": lambda size: joined(size, lambda at: f"k{at}: v", "\n"),
    "same-keys": lambda size: joined(size, lambda _: "k: v", "\n"),
    "words-of-all-sorts": lambda size: joined(
        size,
        lambda at: f"- {('yes', '0x1f', '1.5', '~', 'text', '1_000', '.inf')[at % 7]}{at}",
        "\n",
    ),
    "numbers": lambda size: joined(size, lambda at: f"- {at}", "\n"),
    "long-integer": lambda size: f"a: {'1' * size}",
    "long-float": lambda size: f"a: {'1' * size}.5",
    "underscores": lambda size: f"a: 1{'_' * size}x",
    "anchors": lambda size: joined(size, lambda at: f"- &a{at} x", "\n"),
    "aliases": lambda size: "a: &a [1]\nb:\n" + joined(size, lambda _: "- *a", "\n"),
    "doubling": lambda size: _doubling(size),
    "merge-keys": lambda size: "a: &a {x: 1}\nb:\n" + joined(size, lambda _: "- {<<: *a}", "\n"),
    "merge-of-many": lambda size: (
        "a: &a {"
        + joined(size // 2, lambda at: f"k{at}: 1", ", ")
        + "}\nb:\n"
        + joined(size // 2, lambda _: "- {<<: *a}", "\n")
    ),
    "tags": lambda size: joined(size, lambda _: "- !!str a", "\n"),
    "strange-tags": lambda size: joined(size, lambda at: f"- !t{at} a", "\n"),
    "comments": lambda size: joined(size, lambda _: "# comment", "\n") + "\na: b",
    "hashes": lambda size: f"a: {'#' * size}",
    "folded": lambda size: "a: >\n" + joined(size, lambda _: "  text", "\n"),
    "literal": lambda size: "a: |\n" + joined(size, lambda _: "  text", "\n"),
    "double-quoted": lambda size: 'a: "' + "\\x41" * (size // 4) + '"',
    "single-quoted": lambda size: "a: '" + "''" * (size // 2) + "'",
    "plain-lines": lambda size: "a: b\n" + joined(size, lambda _: "  c", "\n"),
    "tabs": lambda size: "a: b" + "\t" * size + "\n",
    "tabs-first": lambda size: "\t" * size + "a: b",
    "spaces-first": lambda size: " " * size + "a: b",
    "questions": lambda size: joined(size, lambda at: f"? k{at}\n: v", "\n"),
    "question-of-questions": lambda size: "? " * (size // 2) + "a",
    "long-key": lambda size: f"{'k' * size}: v",
    "documents": lambda size: joined(size, lambda _: "---\na: b", "\n"),
    "empty-documents": lambda size: "---\n" * (size // 4),
    "directives": lambda size: (
        joined(size, lambda at: f"%TAG !t{at}! tag:x,2000:", "\n") + "\n---\na: b"
    ),
    "colons": lambda size: "a: " + ":" * size,
    "line-ends": lambda size: "\n" * size + "a: b",
    "carriage-returns": lambda size: "\r" * size + "a: b",
    "unicode": lambda size: "a: " + "é" * (size // 2),
}
"""YAML documents by what they are made of; most are no object, and refused when they are read."""


def _doubling(size: int) -> str:
    lines = ["a0: &a0 [x]"]
    while sum(map(len, lines)) < size:
        at = len(lines)
        lines.append(f"a{at}: &a{at} [*a{at - 1}, *a{at - 1}]")
    return "\n".join(lines)


def _yaml(name: str) -> None:
    def calls(size: int) -> Iterator[Call]:
        text = YAMLS[name](size)
        indented = "\n".join(f"    {line}" for line in text.split("\n"))
        head = "apiVersion: hostile.dev/v1\nkind: Thing\nmetadata: {name: big}\n"
        whole = f"{head}spec:\n  any:\n{indented}\n"
        yield create(THINGS, text[:size], YAML)
        yield create(THINGS, whole[: size + 200], YAML)
        yield apply(f"{THINGS}/big", whole[: size + 200])
        yield Call("GET", f"{THINGS}/big", accept=YAML)
        yield Call("DELETE", THINGS)

    calls.__name__ = f"yaml_{name}"
    case(calls)


for _name in YAMLS:
    _yaml(_name)


@case
def json_as_yaml(size: int) -> Iterator[Call]:
    body = thing("big", f'"free":{{"a":[{joined(size, _small)}]}}')
    yield create(THINGS, body, YAML)
    yield create(THINGS, " " + body, YAML)
    yield Call("GET", f"{THINGS}/big", accept=YAML)
    yield Call("DELETE", THINGS)


@case
def config_map_data(size: int) -> Iterator[Call]:
    keys = joined(size, lambda at: f'"k{at}":"v"')
    yield create(f"{CORE}/configmaps", config_map("big", rest=f'"data":{{{keys}}}'))
    wrong = joined(size, lambda at: f'"k {at}":"v"')
    yield create(f"{CORE}/configmaps", config_map("wrong", rest=f'"data":{{{wrong}}}'))
    yield create(f"{CORE}/configmaps", config_map("binary", rest=f'"binaryData":{{{keys}}}'))
    yield create(
        f"{CORE}/secrets", config_map("s", rest=f'"data":{{{keys}}}').replace("ConfigMap", "Secret")
    )
    yield create(
        f"{CORE}/secrets",
        config_map("t", rest=f'"stringData":{{{keys}}}').replace("ConfigMap", "Secret"),
    )
    yield Call("DELETE", f"{CORE}/configmaps")


@case
def pod_of_many(size: int) -> Iterator[Call]:
    path = f"{CORE}/pods"
    containers = joined(size, lambda at: f'{{"name":"c{at}","image":"i"}}')
    yield create(path, pod("containers", f'"containers":[{containers}]'))
    environment = joined(size, lambda at: f'{{"name":"E{at}","value":"v"}}')
    yield create(
        path, pod("env", f'"containers":[{{"name":"a","image":"i","env":[{environment}]}}]')
    )
    same = joined(size, lambda _: '{"name":"c","image":"i"}')
    yield create(path, pod("same", f'"containers":[{same}]'))
    volumes = joined(size, lambda at: f'{{"name":"v{at}"}}')
    yield create(path, pod("volumes", f'"volumes":[{volumes}],"containers":[]'))
    nothing = joined(size, lambda _: "{}")
    yield create(path, pod("nothing", f'"containers":[{nothing}]'))
    quantities = joined(size, lambda at: f'"r{at}":"{at}Mi"')
    limits = f'{{"name":"a","image":"i","resources":{{"limits":{{{quantities}}}}}}}'
    yield create(path, pod("limits", f'"containers":[{limits}]'))
    long = f'{{"name":"a","image":"i","resources":{{"limits":{{"cpu":"{"1" * size}"}}}}}}'
    yield create(path, pod("long", f'"containers":[{long}]'))
    terms = joined(size, lambda at: f'{{"key":"k{at}","operator":"Exists"}}')
    yield create(path, pod("tolerations", f'"tolerations":[{terms}],"containers":[]'))
    yield Call("GET", path, accept=TABLE)
    yield Call("DELETE", path)


@case
def wrong_media(size: int) -> Iterator[Call]:
    yield create(THINGS, "x" * size, "application/cbor")
    yield create(f"{CORE}/configmaps", "k8s\0" + "\n" * size, "application/vnd.kubernetes.protobuf")
    yield create(f"{CORE}/configmaps", "x" * size, JSON)
