"""Checks a running extension, in any language, by calling it as kapy does.

    findings = await check_extension(post, own_catalog())
    broken = [finding for finding in findings if not finding.holds]

Handlers are called with generated requests about a cluster `default/sample`. If a handler has side
effects, they happen for that cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kapy.hooks.catalog import Catalog
from kapy.hooks.conversions import sample
from kapy.hooks.discovery import validate_handlers
from kapy.hooks.errors import BadDiscovery, BadMessage
from kapy.hooks.hook import AnyHook, Hook, Resp
from kapy.hooks.messages.discovery import DISCOVERY, DiscoveryRequest, ExtensionHandler
from kapy.hooks.messages.in_place_update import JSON_MERGE_PATCH, JSON_PATCH
from kapy.hooks.messages.message import FAILURE, LONGEST_WAIT, SUCCESS, RetryResponse
from kapy.hooks.messages.topology_mutation import GENERATE_PATCHES
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document

Ask: TypeAlias = Callable[[str, bytes], Awaitable[Answer]]
"""Posts a body to a path of the extension. Raises NoAnswer."""

_TOTAL_SECONDS: Final = 30.0


class Finding(NamedTuple):
    """The result of one rule for one handler, or for the whole extension.

    why: how the rule is broken, "" if it holds.
    """

    rule: str
    handler: str
    why: str = ""

    @property
    def holds(self) -> bool:
        return not self.why


class _Broken(Exception):
    """A rule is broken; the message says how."""


async def check_extension(ask: Ask, catalog: Catalog) -> list[Finding]:
    """Return all findings, handler by handler. Raises NoAnswer if the extension does not answer."""
    ask = _in_time(ask)
    result: list[Finding] = []
    handlers = await _discover(ask, catalog, result)
    result.append(await _finding("an unknown path is refused", "", _unknown_path(ask)))
    for handler in handlers:
        hook = catalog.get(handler.request_hook.api_version, handler.request_hook.hook)
        assert hook is not None, handler  # discovery accepts known hooks only
        result += [finding async for finding in _of_handler(ask, hook, handler)]
    return result


def _in_time(ask: Ask) -> Ask:
    async def ask_in_time(path: str, body: bytes) -> Answer:
        try:
            async with asyncio.timeout(_TOTAL_SECONDS):
                return await ask(path, body)
        except TimeoutError:
            raise NoAnswer(f"there is no answer within {_TOTAL_SECONDS:g} s") from None

    return ask_in_time


async def _discover(ask: Ask, catalog: Catalog, value: list[Finding]) -> list[ExtensionHandler]:
    answer = await ask(DISCOVERY.path(), DISCOVERY.encode_request(DiscoveryRequest()))
    rule = "Discovery lists the handlers"
    try:
        response = _response(DISCOVERY, answer)
        if response.status != SUCCESS:
            raise _Broken(f"it fails: {response.message}")
        handlers = validate_handlers(response.handlers, catalog)
    except (_Broken, BadDiscovery) as error:
        value.append(Finding(rule, "", str(error)))
        return []
    value.append(Finding(rule, "", "" if handlers else "there are none"))
    return handlers


async def _of_handler(ask: Ask, hook: AnyHook, handler: ExtensionHandler) -> AsyncIterator[Finding]:
    path = hook.path(handler.name)
    body = hook.encode_request(sample(hook.request))
    limit = float(handler.timeout_seconds or _TOTAL_SECONDS)
    rules: dict[str, Callable[[], Awaitable[None]]] = {
        "a request is answered in time, as the hook says": partial(
            _check_answer, ask, hook, path, body, limit
        ),
        "the same request has the same answer": partial(_same_twice, ask, path, body),
        "fields of newer releases are left alone": partial(_newer, ask, hook, path, body),
        "what is no JSON is a failure": partial(_no_json, ask, hook, path),
    }
    if hook.name == GENERATE_PATCHES.name:
        rules["patches are for templates of the request"] = partial(_patches, ask, hook, path, body)
    for rule, check in rules.items():
        yield await _finding(rule, handler.name, check())


async def _finding(rule: str, handler: str, check: Awaitable[None]) -> Finding:
    try:
        await check
    except (_Broken, NoAnswer) as error:
        return Finding(rule, handler, str(error))
    return Finding(rule, handler)


async def _unknown_path(ask: Ask) -> None:
    answer = await ask("/no/such/handler", b"{}")
    if answer.code == 200:
        raise _Broken("it is answered with status 200")


async def _check_answer(ask: Ask, hook: AnyHook, path: str, body: bytes, limit: float) -> None:
    try:
        async with asyncio.timeout(limit):
            response = _response(hook, await ask(path, body))
    except TimeoutError:
        raise _Broken(f"there is no answer in the {limit:g} s that it says itself") from None
    if response.status not in (SUCCESS, FAILURE):
        raise _Broken(f'status is "{response.status}", neither Success nor Failure')
    wait = response.retry_after_seconds if isinstance(response, RetryResponse) else 0
    if not 0 <= wait <= LONGEST_WAIT:
        raise _Broken(f"retryAfterSeconds is {wait}, which is no time")


async def _same_twice(ask: Ask, path: str, body: bytes) -> None:
    first, second = await ask(path, body), await ask(path, body)
    if _document(first) != _document(second):
        raise _Broken(f"{_shorten(first)} and then {_shorten(second)}")


async def _newer(ask: Ask, hook: AnyHook, path: str, body: bytes) -> None:
    plain = _response(hook, await ask(path, body))
    newer = {**msgspec.json.decode(body), "aFieldOfANewerRelease": {"of": ["any", "form"]}}
    response = _response(hook, await ask(path, msgspec.json.encode(newer)))
    if response.status != plain.status:
        raise _Broken(f"the answer becomes {response.status}: {response.message}")


async def _no_json(ask: Ask, hook: AnyHook, path: str) -> None:
    answer = await ask(path, b"this is no JSON")
    if answer.code == 200 and _response(hook, answer).status == SUCCESS:
        raise _Broken("it is answered with Success")


async def _patches(ask: Ask, hook: AnyHook, path: str, body: bytes) -> None:
    request: Any = hook.decode_request(body)
    response: Any = _response(hook, await ask(path, body))
    uids = {template.uid for template in request.templates}
    for item in response.items:
        if item.uid not in uids:
            raise _Broken(f'there is a patch for "{item.uid}", which nobody asked for')
        if item.patch_type not in (JSON_PATCH, JSON_MERGE_PATCH):
            raise _Broken(f'"{item.patch_type}" is neither {JSON_PATCH} nor {JSON_MERGE_PATCH}')


def _response(hook: Hook[Any, Resp], answer: Answer) -> Resp:
    if answer.code != 200:
        raise _Broken(f"the status code is {answer.code}: {_shorten(answer)}")
    try:
        return hook.decode_response(answer.body)
    except BadMessage as error:
        raise _Broken(str(error)) from None


def _document(answer: Answer) -> Document | bytes:
    try:
        result: Document = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return answer.body
    return result


def _shorten(answer: Answer) -> str:
    text = answer.body.decode(errors="replace")
    return text if len(text) <= 200 else f"{text[:200]}…"
