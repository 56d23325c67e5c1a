"""The judge of running extensions: a good one keeps all rules, each bad one breaks its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    DISCOVERY,
    GENERATE_PATCHES,
    BeforeClusterCreateRequest,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    RetryResponse,
)
from kapy.hooks.catalog import own_catalog
from kapy.hooks.mutation import patch_templates
from kapy.hooks.transport import Answer, NoAnswer
from kapy.testing.extension_conformance import check_extension

QUOTA = BEFORE_CLUSTER_CREATE.path("quota")
PATCHES = GENERATE_PATCHES.path("labels")
ANSWERED = "a request is answered in time, as the hook says"
SAME = "the same request has the same answer"
NEWER = "fields of newer releases are left alone"
NO_JSON = "what is no JSON is a failure"
DISCOVERED = "Discovery lists the handlers"

Wrong = Callable[[str, bytes, Answer], Answer]


def good() -> Extension:
    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_CREATE, name="quota", timeout_seconds=2)
    async def quota(request: BeforeClusterCreateRequest) -> RetryResponse:
        return RetryResponse.wait(30, f"no room for {request.cluster['metadata']['name']}")

    @extension.handles(GENERATE_PATCHES, name="labels")
    async def labels(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
        return patch_templates(request, lambda template: template.object.update(labeled=True))

    return extension


def asking(wrong: Wrong, delay: float = 0) -> Any:
    """An extension whose answers go through a function."""
    extension = good()

    async def ask(path: str, body: bytes) -> Answer:
        if path == QUOTA:
            await asyncio.sleep(delay)
        answer = await extension.dispatch(path, body)
        good_one = Answer(404, b"") if answer is None else Answer(200, answer)
        return wrong(path, body, good_one)

    return ask


def as_it_is(path: str, body: bytes, answer: Answer) -> Answer:
    return answer


def on(where: str, change: Callable[[bytes, Answer], Answer]) -> Wrong:
    return lambda path, body, answer: change(body, answer) if path == where else answer


def edited(answer: Answer, **fields: Any) -> Answer:
    return Answer(answer.code, json.dumps({**json.loads(answer.body), **fields}).encode())


async def test_a_good_extension_keeps_every_rule() -> None:
    findings = await check_extension(asking(as_it_is), own_catalog())
    assert [finding for finding in findings if not finding.holds] == []
    assert sorted({finding.handler for finding in findings}) == ["", "labels", "quota"]
    assert len(findings) == 11


counted = iter(range(99))
FOREIGN_PATCH = {"uid": "other", "patchType": "JSONPatch", "patch": "W10="}


@pytest.mark.parametrize(
    ("wrong", "rule", "why"),
    [
        (
            on(QUOTA, lambda _, answer: Answer(500, b"oops")),
            ANSWERED,
            "the status code is 500: oops",
        ),
        (on(QUOTA, lambda _, answer: Answer(200, b"<html>")), ANSWERED, "is not JSON"),
        (on(QUOTA, lambda _, answer: edited(answer, status="Fine")), ANSWERED, 'status is "Fine"'),
        (on(QUOTA, lambda _, answer: Answer(200, b"{}")), ANSWERED, 'status is ""'),
        (on(QUOTA, lambda _, answer: edited(answer, retryAfterSeconds=-5)), ANSWERED, "is no time"),
        (
            on(QUOTA, lambda _, answer: edited(answer, retryAfterSeconds=2**31)),
            ANSWERED,
            "is no time",
        ),
        (on(QUOTA, lambda _, answer: edited(answer, kind="Other")), ANSWERED, 'kind is "Other"'),
        (on(QUOTA, lambda _, answer: edited(answer, message=str(next(counted)))), SAME, "and then"),
        (
            on(
                QUOTA,
                lambda body, answer: edited(answer, status="Failure" if b"Newer" in body else "S"),
            ),
            NEWER,
            "the answer becomes Failure",
        ),
        (on(QUOTA, lambda _, answer: edited(answer, status="Success")), NO_JSON, "with Success"),
        (
            on(PATCHES, lambda _, answer: edited(answer, items=[FOREIGN_PATCH])),
            "patches are for templates of the request",
            'there is a patch for "other"',
        ),
        (
            lambda path, body, value: Answer(200, b"{}"),
            "an unknown path is refused",
            "it is answered with status 200",
        ),
        (
            on(DISCOVERY.path(), lambda _, answer: edited(answer, handlers=[])),
            DISCOVERED,
            "are none",
        ),
        (
            on(DISCOVERY.path(), lambda _, answer: edited(answer, status="Failure", message="no")),
            DISCOVERED,
            "it fails: no",
        ),
    ],
)
async def test_a_bad_extension_breaks_its_rule(wrong: Wrong, rule: str, why: str) -> None:
    results = {
        finding.rule: finding.why
        for finding in await check_extension(asking(wrong), own_catalog())
        if not finding.holds
    }
    assert why in results[rule], results


async def test_a_response_after_the_timeout_is_a_failure() -> None:
    findings = await check_extension(asking(as_it_is, delay=3), own_catalog())
    broken = [(finding.rule, finding.why) for finding in findings if not finding.holds]
    assert broken == [(ANSWERED, "there is no answer in the 2 s that it says itself")]


async def test_an_extension_that_never_answers_times_out() -> None:
    with pytest.raises(NoAnswer, match="there is no answer within 30 s"):
        await check_extension(lambda _, __: asyncio.sleep(3600, Answer(200, b"")), own_catalog())
    broken = [
        finding
        for finding in await check_extension(asking(as_it_is, delay=3600), own_catalog())
        if not finding.holds
    ]
    assert {(finding.rule, finding.handler) for finding in broken} == {
        (rule, "quota") for rule in (ANSWERED, SAME, NEWER, NO_JSON)
    }
