"""Inspect the extensions of a plane from outside: list handlers, call one, watch calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from kapy.api.extension_config import ExtensionConfig, ExtensionHandler
from kapy.client.client import Client
from kapy.client.reply import failure_of
from kapy.hooks.call import body_of, handler_url
from kapy.hooks.call_stream import redact_message
from kapy.hooks.catalog import Catalog
from kapy.hooks.conversions import sample
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook
from kapy.hooks.messages.discovery import DEFAULT_TIMEOUT_SECONDS
from kapy.hooks.registry import extension_of
from kapy.hooks.transport import Answer, HookTransport, NoAnswer
from kapy.kube import Document
from kapy.kube.http import Request

CALLS: Final = "/hooks/calls"
"""Where a plane tells of its calls; who may read all of it may read that."""
RECALL: Final = "recall"
_DAY: Final = "86400"


class HandlerRow(NamedTuple):
    """One handler of one extension; an extension without known handlers has a row without one."""

    extension: str
    handler: str
    hook: str
    version: str
    timeout_seconds: int
    failure_policy: str
    problem: str


async def list_handlers(client: Client) -> list[HandlerRow]:
    """Return all handlers by name. Raises ApiError."""
    handlers: list[HandlerRow] = []
    configs = (await client.list(ExtensionConfig)).items
    for config in sorted(configs, key=lambda value: value.metadata.name):
        problem = _problem(config)
        rows = [_row(config, handler, problem) for handler in config.status.handlers]
        handlers += rows or [HandlerRow(config.metadata.name, "", "", "", 0, "", problem)]
    return handlers


def _problem(config: ExtensionConfig) -> str:
    conditions = {condition.type: condition for condition in config.status.conditions}
    discovered = conditions.get("Discovered")
    if discovered is None:
        return "not discovered yet"
    return "" if discovered.status == "True" else discovered.message


def _row(config: ExtensionConfig, handler: ExtensionHandler, problem: str) -> HandlerRow:
    hook = handler.request_hook
    version = hook.api_version.rpartition("/")[2]
    return HandlerRow(
        config.metadata.name,
        handler.name,
        hook.hook,
        version,
        handler.timeout_seconds,
        handler.failure_policy,
        problem,
    )


async def handler_of(client: Client, name: str) -> tuple[ExtensionConfig, ExtensionHandler]:
    """Return a handler by its registered name. Raises HookError if it does not exist."""
    wanted = extension_of(name)
    listed = await client.list(ExtensionConfig)
    configs = {item.metadata.name: item for item in listed.items}
    config = configs.get(wanted)
    if config is None:
        there = ", ".join(sorted(configs)) or "none"
        raise HookError(f"there is no ExtensionConfig {wanted}; there are: {there}")
    for handler in config.status.handlers:
        if handler.name == name:
            return config, handler
    there = ", ".join(item.name for item in config.status.handlers) or "none"
    raise HookError(f"{wanted} has no handler {name}; it has: {there}")


async def call_handler(
    client: Client, post: HookTransport, catalog: Catalog, name: str, request: Document | None
) -> Document:
    """Call a handler and return its answer for display: patches are decoded, secrets are redacted.

    request: a recorded one, or None for a generated one. Raises HookError, NoAnswer, ApiError.
    """
    config, handler = await handler_of(client, name)
    version_hook = handler.request_hook
    hook = catalog.get(version_hook.api_version, version_hook.hook)
    if hook is None:
        raise HookError(
            f"{version_hook.hook} of {version_hook.api_version} is none of the hooks that are known"
        )
    body = body_of(hook, sample(hook.request) if request is None else request, config.spec.settings)
    where = config.spec.client_config
    url = handler_url(where, hook, name.removesuffix(f".{config.metadata.name}"))
    answer = await _in_time(post(where, url, body), handler.timeout_seconds)
    if answer.code != 200:
        text = answer.body.decode(errors="replace")[:500]
        raise HookError(f"{url} answered with status code {answer.code}: {text}")
    return _redact_answer(hook, answer.body)


async def _in_time(answer: Awaitable[Answer], seconds: int) -> Answer:
    """Await an answer within the time limit of a plane. Raises NoAnswer."""
    seconds = seconds or DEFAULT_TIMEOUT_SECONDS
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise NoAnswer(f"no answer within {seconds}s, which is the handler's timeout") from None


@asynccontextmanager
async def calls(client: Client, *, recall: bool = False) -> AsyncIterator[AsyncIterator[Document]]:
    """Yield the calls that a plane makes from now on (`kapy.hooks.call_stream`), until it ends.

    recall: yield the last blocking responses first. Raises HookError if the plane calls no
    extension, ApiError, Unreachable.
    """
    query = {"watch": "true", "timeoutSeconds": _DAY, RECALL: str(recall).lower()}
    reply = await client.transport(Request("GET", CALLS, query))
    if reply.status == 404:
        raise HookError(
            "this server calls no extensions: it is a plane whose feature gate RuntimeSDK is "
            "closed (open it with --feature-gates RuntimeSDK=true), or no plane of kapy: of calls "
            "of managers in a cluster their metrics and traces tell"
        )
    if reply.status >= 400:
        raise failure_of(reply)
    stream: Any = reply.body
    try:
        yield stream
    finally:
        await stream.aclose()


def line_of(call: Document) -> str:
    """Format one call as a line: time, hook, handler, object, duration and result."""
    about = _about(call.get("request") or {})
    entries = (call["time"], call["hook"], call["handler"] or call["host"], about)
    heading = " ".join(item for item in entries if item)
    return f"{heading} ({1000 * call['seconds']:.1f} ms): {_outcome(call)}"


def _about(request: Document) -> str:
    subject = request.get("cluster") or (request.get("desired") or {}).get("machine") or {}
    metadata = subject.get("metadata") or {}
    return "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))


def _outcome(call: Document) -> str:
    if "error" in call:
        return f"no answer: {call['error']}"
    response = call["response"]
    if call["code"] != 200:
        return f"status code {call['code']}"
    message = f": {response['message']}" if response.get("message") else ""
    if seconds := response.get("retryAfterSeconds"):
        return f"wait {seconds} s{message}"
    return f"{response.get('status', 'unreadable')}{message}"


def _redact_answer(hook: AnyHook, body: bytes) -> Document:
    return redact_message(hook.encode_response(hook.decode_response(body)))
