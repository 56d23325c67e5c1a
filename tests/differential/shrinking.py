"""The smallest case that still shows a difference of the same class."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from tests.differential.case import Case, Json
from tests.differential.comparing import Pair

MOST: int = 150


async def shrunk(pair: Pair, case: Case, cause: str) -> Case:
    """Leave out steps, then fields, while the cause stays. At most MOST tries."""
    tries = MOST
    smaller = True
    while smaller and tries > 0:
        smaller = False
        for candidate in _smaller(case):
            tries -= 1
            if tries <= 0:
                break
            if (await pair.compare(candidate)).cause == cause:
                case, smaller = candidate, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with a little less, the largest cuts first."""
    steps = case["steps"]
    for count in (len(steps) // 2, 3, 1):
        for start in range(len(steps) - count, -1, -max(count, 1)):
            if 0 < count < len(steps):
                remaining = [*steps[:start], *steps[start + count :]]
                if _complete(remaining):
                    yield {**case, "steps": remaining}
    for number, step in enumerate(steps):
        for key in ("request", "watch"):
            if key in step:
                for request in _less(step[key]):
                    yield _replaced(case, number, {**step, key: request})
        if "save" in step:
            yield _replaced(case, number, {k: v for k, v in step.items() if k != "save"})


def _complete(steps: list[Json]) -> bool:
    """Whether every watch that is collected was opened."""
    opened = {step["watch"]["id"] for step in steps if "watch" in step}
    return all(step["collect"]["id"] in opened for step in steps if "collect" in step)


def _replaced(case: Case, number: int, step: Json) -> Case:
    return {**case, "steps": [*case["steps"][:number], step, *case["steps"][number + 1 :]]}


def _less(request: Json) -> Iterator[Json]:
    for key in ("query", "headers", "as"):
        if key in request:
            yield {name: value for name, value in request.items() if name != key}
    for key in ("query", "body"):
        for value in _without(request.get(key)):
            yield {**request, key: value}


def _without(node: Json) -> Iterator[Json]:
    """The value with one part less, outer parts first."""
    level: list[list[Json]] = [[]]
    while level:
        deeper: list[list[Json]] = []
        for path in level:
            holder = node
            for key in path:
                holder = holder[key]
            keys = (
                list(holder)
                if isinstance(holder, dict)
                else range(len(holder))
                if isinstance(holder, list)
                else ()
            )
            for key in keys:
                if (*path, key) not in _NEEDED:
                    yield _cut(node, [*path, key])
                deeper.append([*path, key])
        level = deeper


_NEEDED = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")}


def _cut(node: Json, path: list[Json]) -> Json:
    node = copy.deepcopy(node)
    holder = node
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return node
