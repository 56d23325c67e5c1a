"""Looking at the extensions of a plane from outside: who is registered, and what one answers."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, Final, NamedTuple

import msgspec

from kapy.api.extension_config import ExtensionConfig, ExtensionHandler
from kapy.client.client import Client
from kapy.hooks.call import body_of
from kapy.hooks.catalog import Catalog
from kapy.hooks.conversions import sample
from kapy.hooks.errors import HookError
from kapy.hooks.hook import AnyHook
from kapy.hooks.names import extension_of
from kapy.hooks.posting import Post
from kapy.hooks.urls import handler_url
from kapy.kube import Document

_REDACTED: Final = "(not shown)"
_SECRET_WORDS: Final = ("password", "secret", "token", "key", "credential")


class Registered(NamedTuple):
    """One handler of one extension; an extension of which none is known has a row without one."""

    extension: str
    handler: str
    hook: str
    version: str
    timeout_seconds: int
    failure_policy: str
    problem: str


async def registered(client: Client) -> list[Registered]:
    """All handlers by name. Raises ApiError."""
    found: list[Registered] = []
    configs = (await client.list(ExtensionConfig)).items
    for config in sorted(configs, key=lambda one: one.metadata.name):
        problem = _problem(config)
        rows = [_row(config, one, problem) for one in config.status.handlers]
        found += rows or [Registered(config.metadata.name, "", "", "", 0, "", problem)]
    return found


def _problem(config: ExtensionConfig) -> str:
    conditions = {one.type: one for one in config.status.conditions}
    discovered = conditions.get("Discovered")
    if discovered is None:
        return "not discovered yet"
    return "" if discovered.status == "True" else discovered.message


def _row(config: ExtensionConfig, handler: ExtensionHandler, problem: str) -> Registered:
    asked = handler.request_hook
    version = asked.api_version.rpartition("/")[2]
    return Registered(
        config.metadata.name,
        handler.name,
        asked.hook,
        version,
        handler.timeout_seconds,
        handler.failure_policy,
        problem,
    )


async def handler_of(client: Client, name: str) -> tuple[ExtensionConfig, ExtensionHandler]:
    """A handler by its registered name. Raises HookError if it is not there."""
    wanted = extension_of(name)
    listed = await client.list(ExtensionConfig)
    configs = {one.metadata.name: one for one in listed.items}
    config = configs.get(wanted)
    if config is None:
        there = ", ".join(sorted(configs)) or "none"
        raise HookError(f"there is no ExtensionConfig {wanted}; there are: {there}")
    for one in config.status.handlers:
        if one.name == name:
            return config, one
    there = ", ".join(one.name for one in config.status.handlers) or "none"
    raise HookError(f"{wanted} has no handler {name}; it has: {there}")


async def answered(
    client: Client, post: Post, catalog: Catalog, name: str, request: Document | None
) -> Document:
    """What a handler answers, to be looked at: patches are decoded, secrets are left out.

    request: a recorded one, or None for a made one. Raises HookError, NoAnswer, ApiError.
    """
    config, handler = await handler_of(client, name)
    asked = handler.request_hook
    hook = catalog.get(asked.api_version, asked.hook)
    if hook is None:
        raise HookError(f"{asked.hook} of {asked.api_version} is none of the hooks that are known")
    body = body_of(hook, sample(hook.request) if request is None else request, config.spec.settings)
    where = config.spec.client_config
    url = handler_url(where, hook, name.removesuffix(f".{config.metadata.name}"))
    answer = await post(where, url, body)
    if answer.code != 200:
        text = answer.body.decode(errors="replace")[:500]
        raise HookError(f"{url} answered with status code {answer.code}: {text}")
    return _shown(hook, answer.body)


def _shown(hook: AnyHook, body: bytes) -> Document:
    response = hook.decode_response(body)
    document: Document = msgspec.json.decode(hook.encode_response(response))
    for item in document.get("items") or ():
        item["patch"] = _readable(item.get("patch"))
    found: Document = _redacted(document)
    return found


def _readable(patch: Any) -> Any:
    try:
        return msgspec.json.decode(b64decode(patch or ""))
    except (ValueError, msgspec.DecodeError):
        return patch


def _redacted(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _REDACTED if isinstance(value, str) and _is_secret(key) else _redacted(value)
            for key, value in node.items()
        }
    return [_redacted(one) for one in node] if isinstance(node, list) else node


def _is_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET_WORDS)
