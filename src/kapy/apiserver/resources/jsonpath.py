"""The part of Kubernetes' JSONPath that printer columns use.

`.spec.size`, `.spec.tags[*]`, `.items[0].name`, `.status.conditions[?(@.type=="Ready")].status`,
`.metadata.labels.example\\.dev/zone`, `.metadata.labels['example\\.dev/zone']`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from kapy.kube.digits import parse_integer

Step = Callable[[Any], Iterable[Any]]

_TOKEN = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)
    |\[\s*(?P<index>-?\d+)\s*\]
    |\[(?P<all>\*)\]
    |\[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]
    |\[\?\(\s*@(?P<left>[^=!<>\s]+)\s*(?P<sign>==|!=)\s*(?P<right>'[^']*'|"[^"]*"|[^)\s]+)\s*\)\]""",
    re.VERBOSE,
)


def find_values(document: Any, path: str) -> Iterator[Any]:
    """Return all values at a path, in order; nothing for a path that cannot be understood."""
    values: Iterable[Any] = [document]
    for step in _steps(path):
        values = [inner for value in values for inner in step(value)]
    return iter(values)


@lru_cache(maxsize=2048)
def _steps(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}")
    text = text if text[:1] in ".[" else f".{text}"
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return (_no_values,)
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _no_values(_value: Any) -> Iterable[Any]:
    return ()


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return _item(parse_integer(match["index"]))
    if match["all"]:
        return _items
    if match["left"]:
        return _filter(match["left"], match["sign"] == "==", match["right"].strip("'\""))
    if match["field"] == "*":
        return _items
    name = match["quoted"][1:-1] if match["quoted"] else match["field"]
    return _field(re.sub(r"\\(.)", r"\1", name))


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else ()


def _item(index: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            return [value[index]]
        return ()

    return step


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _filter(left: str, equal: bool, right: str) -> Step:  # noqa: FBT001
    def step(value: Any) -> Iterable[Any]:
        return [
            item
            for item in _items(value)
            if any((_text(inner) == right) is equal for inner in find_values(item, left))
        ]

    return step


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
