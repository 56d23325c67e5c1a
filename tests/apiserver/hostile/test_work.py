"""Twice as large requests are twice as much work: counted, not timed.

Some cases of the corpus; `KAPY_HOSTILE=2` plays all of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.apiserver.hostile.corpus import CASES, CRD, Case
from tests.apiserver.hostile.corpus.case import NAMESPACE
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import CRDS, Asking, running

SIZE = 2000
GROWTH = 2.6
"""How many times as much more work twice as many more bytes may be: 2 is linear, 4 is the square
(there is sorting, too)."""

LITTLE = 8
"""Calls of functions that are little for a byte: checks begin or end at some sizes."""


class Work:
    """A profile function that counts calls of functions."""

    calls = 0

    def __call__(self, _frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


@contextmanager
def counted() -> Iterator[Work]:
    work = Work()
    sys.setprofile(work)
    try:
        yield work
    finally:
        sys.setprofile(None)


async def played(calls: Calls, case: Case, size: int) -> list[int]:
    """The work of each request of a case."""
    result = []
    for call in case.calls(size):
        target = f"{call.path}?{urlencode(call.query)}" if call.query else call.path
        if call.query.get("watch"):
            continue
        headers: dict[str, Any] = {"content_type": call.media}
        if call.accept:
            headers["accept"] = call.accept
        with counted() as work:
            answer = await calls.call(call.method, target, call.body or None, **headers)
        assert b"Internal error occurred" not in answer.content[:300]
        assert answer.status in (200, 201) or not call.setup, answer.content[:300]
        result.append(work.calls)
    return result


def _chosen() -> list[Case]:
    """All cases if many are wished for, else all but the shapes of documents, and some of those."""
    if int(os.environ.get("KAPY_HOSTILE", "1")) > 1:
        return CASES
    shapes = [case for case in CASES if case.name.startswith(("json-", "yaml-"))]
    return [case for case in CASES if case not in shapes] + shapes[::8]


@pytest.mark.parametrize("case", _chosen(), ids=lambda value: value.name)
async def test_the_work_grows_linearly_with_the_request(case: Case) -> None:
    async with running() as asking:
        await furnish(asking)
        calls = Calls(asking.server)
        await played(calls, case, SIZE)  # what is made once is made
        small, middle, large = [await played(calls, case, SIZE * element) for element in (1, 2, 4)]
    for number, (item, two, four) in enumerate(zip(small, middle, large, strict=False), 1):
        more, most = two - item, four - two
        assert most <= max(GROWTH * more, LITTLE * 4 * SIZE), (number, item, two, four)


async def furnish(asking: Asking) -> None:
    await asking.create(CRDS, CRD)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await asking.create("/api/v1/namespaces", space)
