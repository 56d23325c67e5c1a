"""Bodies of responses, made at random: right ones with the faults that writers of JSON make.

python -m tests.hooks.go_bodies SEED COUNT > cases.jsonl    # {"hook": …, "body": base64}
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

_LONGEST: Final = 600
Pairs = list[tuple[str, Any]]
_SCALARS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 5, 30, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 10**30),
    *("", "Success", "Failure", "10", "W10=", "e30=", "W10", "é", "a\nb"),
)
_LITERALS: Final = (
    "1.0",
    "1e2",
    "-0",
    "1E400",
    "0.5",
    "12345678901234567890",
    '"\\ud800"',
    '"\\u0041"',
)
_TAILS: Final = (
    "",
    "",
    "",
    "",
    " ",
    "x",
    "{}",
    "null",
    "]",
    "\n\n",
    '{"status":"Failure"}',
    "\x00",
)
_TOPS: Final = (
    *(
        "",
        " \n",
        "null",
        "null ",
        "nullx",
        "null,",
        "true",
        "[]",
        "{}",
        "5",
        "5x",
        '"a"',
        '"a"x',
        "{",
        "{]",
    ),
    *(
        '{"status"',
        '{"status":',
        '{"status":"Success"',
        '{"status":"Success",}',
        "{'status':1}",
        "nul",
    ),
    *(
        "\ufeff{}",
        "[{}]",
        "NaN",
        '{"a":NaN}',
        '{"a":01}',
        '{"a":+1}',
        '{"a":.5}',
        '{"a":"\t"}',
        '{"a" 1}',
    ),
)


class Literal(str):
    """A value as it is written."""


def written(value: Any, random: Random) -> str:
    """The text of a value; objects are lists of pairs in a tuple."""
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, tuple):
        members = (
            f"{json.dumps(key, ensure_ascii=False)}:{written(item, random)}" for key, item in value
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, random) for item in value) + "]"
    return json.dumps(value, ensure_ascii=random.random() < 0.5)


def _some(random: Random, make: Callable[[Random], Any], most: int = 3) -> list[Any]:
    return [make(random) for _ in range(random.randint(0, most))]


def _object(random: Random, *pairs: tuple[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Most of the pairs, some with another spelling, some again, some with another value."""
    results: Pairs = [entry for entry in pairs if random.random() < 0.85]
    for pair in pairs:
        if random.random() < 0.12:
            results.insert(random.randint(0, len(results)), pair)
    return tuple((_respelled(key, random), _other(value, random)) for key, value in results)


def _respelled(key: str, random: Random) -> str:
    luck = random.random()
    if luck > 0.15:
        return key
    if luck > 0.10:
        return key.upper()
    if luck > 0.05:
        return "".join(random.choice((text.upper(), text.lower())) for text in key)
    return random.choice(
        (key.replace("s", "\u017f"), key.replace("k", "\u212a"), key + "x", "", "\u017f")
    )


def _other(value: Any, random: Random) -> Any:
    luck = random.random()
    if luck > 0.06:
        return value
    if luck > 0.04:
        return None
    if luck > 0.03:
        return Literal(random.choice(_LITERALS))
    return random.choice((*_SCALARS, (), [], [None], [91, 93], [1, 256], (("a", 1),)))


def _scalar(random: Random, *usual: Any) -> Any:
    return random.choice(usual)


def _common(random: Random) -> Pairs:
    return [
        ("apiVersion", "hooks.runtime.cluster.x-k8s.io/v1alpha1"),
        ("kind", "AResponse"),
        ("status", _scalar(random, "Success", "Success", "Failure", "")),
        ("message", _scalar(random, "no room", "", "é", "\x7f")),
        ("unknown", _scalar(random, 1, (("a", (("b", None),)),), [[]])),
    ]


def _wait(random: Random) -> Pairs:
    return [("retryAfterSeconds", _scalar(random, 0, 5, -1, 2**31 - 1))]


def _item(random: Random) -> Any:
    return _object(
        random,
        ("uid", _scalar(random, "1", "2")),
        ("patchType", _scalar(random, "JSONPatch", "JSONMergePatch")),
        ("patch", _scalar(random, "W10=", "e30=", "", "W\n10=", [91, 93], [None, 1])),
    )


def _handler(random: Random) -> Any:
    hook = _object(random, ("apiVersion", "v1"), ("hook", "BeforeClusterCreate"))
    return _object(
        random,
        ("name", _scalar(random, "a", "b")),
        ("requestHook", hook),
        ("timeoutSeconds", _scalar(random, 0, 5, None)),
        ("failurePolicy", _scalar(random, "Fail", "Ignore", None)),
    )


def _schema(random: Random, depth: int = 0) -> Any:
    inner: Pairs = []
    if depth < 2:
        inner = [
            (
                "properties",
                _object(
                    random, ("a", _schema(random, depth + 1)), ("B", _schema(random, depth + 1))
                ),
            ),
            ("items", _schema(random, depth + 1)),
            ("allOf", _some(random, lambda value: _schema(value, depth + 1), 2)),
        ]
    return _object(
        random,
        ("type", _scalar(random, "object", "string")),
        ("default", _scalar(random, None, 1, (("A", 1), ("A", 2), ("a", None)), [None, ()])),
        ("enum", _scalar(random, [], [None, 1], ["a", "b"])),
        ("required", _scalar(random, ["a"], [], ["a", None])),
        ("maxLength", _scalar(random, 5, None, 2**62)),
        ("uniqueItems", _scalar(random, True, False, None)),
        ("x-kubernetes-validations", [_object(random, ("rule", "self > 1"), ("message", "small"))]),
        ("x-metadata", _object(random, ("labels", _object(random, ("a", "b"), ("c", None))))),
        *inner,
    )


def _variable(random: Random) -> Any:
    schema = _object(random, ("openAPIV3Schema", _schema(random)))
    return _object(
        random, ("name", "v"), ("required", _scalar(random, True, False)), ("schema", schema)
    )


def _step(random: Random) -> Any:
    return _object(random, ("version", _scalar(random, "v1.30.0", "v1.31.0")))


def _patch(random: Random) -> Any:
    return _object(
        random, ("patchType", "JSONPatch"), ("patch", _scalar(random, "W10=", "e30=", None))
    )


FIELDS: Final[dict[str, Callable[[Random], Pairs]]] = {
    "BeforeClusterCreate": _wait,
    "ValidateTopology": lambda _: [],
    "GeneratePatches": lambda random: [
        ("items", _some(random, _item)),
        ("items", _some(random, _item)),
    ],
    "Discovery": lambda random: [
        ("handlers", _some(random, _handler)),
        ("handlers", _some(random, _handler)),
    ],
    "DiscoverVariables": lambda random: [
        ("variables", _some(random, _variable, 2)) for _ in range(2)
    ],
    "GenerateUpgradePlan": lambda random: [
        ("controlPlaneUpgrades", _some(random, _step)),
        ("workersUpgrades", _some(random, _step)),
    ],
    "CanUpdateMachine": lambda random: [
        ("machinePatch", _patch(random)),
        ("bootstrapConfigPatch", _patch(random)),
    ],
}


def case(random: Random) -> tuple[str, bytes]:
    """A hook, and a body that is meant to be a response of it."""
    hook = random.choice(list(FIELDS))
    if random.random() < 0.1:
        return hook, random.choice(_TOPS).encode()
    fields = _object(random, *_common(random), *FIELDS[hook](random))
    body = (written(fields, random) + random.choice(_TAILS)).encode()
    if random.random() < 0.05:
        at = random.randrange(len(body) + 1)
        body = (
            body[:at]
            + random.choice((b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\\", b'"', b",", b""))
            + body[at:]
        )
    if random.random() < 0.03:
        body = body[: random.randrange(len(body) + 1)]
    return hook, body


def cases(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """All bodies that are no object, and so many short ones made at random."""
    yield from (("BeforeClusterCreate", top.encode()) for top in _TOPS)
    random = Random(seed)
    for _ in range(count):
        results = case(random)
        if len(results[1]) <= _LONGEST:
            yield results


def main(seed: int, count: int) -> None:
    """Print cases."""
    for hook, body in cases(seed, count):
        line = {"hook": hook, "body": base64.b64encode(body).decode()}
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
