"""Tests of runtime extensions: handlers are called in process, with encoded messages.

    response = await ask(extension, BEFORE_CLUSTER_UPGRADE, request, "freeze-window")
    await check_deterministic(extension, GENERATE_PATCHES, request, "registry")

A failed check raises AssertionError with the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.hooks.catalog import own_catalog
from kapy.hooks.conversions import sample
from kapy.hooks.extension import Extension
from kapy.hooks.hook import Hook, Req, Resp
from kapy.hooks.messages.in_place_update import JSON_MERGE_PATCH
from kapy.hooks.messages.message import SUCCESS
from kapy.hooks.messages.topology_mutation import (
    GENERATE_PATCHES,
    GeneratePatchesRequest,
    GeneratePatchesResponseItem,
)
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document
from kapy.kube.patch import merge_patch, strict_json_patch
from kapy.kube.renamed import renamed_function
from kapy.kube.yaml import load
from kapy.testing.extension_conformance import check_extension


async def ask(extension: Extension, hook: Hook[Req, Resp], request: Req, name: str) -> Resp:
    """Call a handler and return its response. Raises ValueError if there is no such handler."""
    return hook.decode_response(await _call(extension, hook, request, name))


def read_request(hook: Hook[Req, Any], path: Path) -> Req:
    """Read a request of the hook from a JSON or YAML file. Raises BadMessage."""
    return hook.decode_request(msgspec.json.encode(load(path.read_bytes(), str(path))))


def sample_request(hook: Hook[Req, Any]) -> Req:
    """Generate a request with a value in every field, always the same. Objects in it are
    placeholders."""
    result: Req = sample(hook.request)
    return msgspec.structs.replace(result, kind=hook.request_kind, api_version=hook.api_version)


recorded = renamed_function(read_request, "recorded")
made = renamed_function(sample_request, "made")


async def check_deterministic(
    extension: Extension, hook: Hook[Req, Resp], request: Req, name: str
) -> None:
    """Check that equal requests get equal responses, byte by byte: otherwise machines would be
    rolled out, or conditions would change, for ever."""
    first = await _call(extension, hook, request, name)
    second = await _call(extension, hook, request, name)
    assert first == second, (
        f"{name} answered {hook.name} in two ways:\n{first.decode()}\n{second.decode()}"
    )


async def check_idempotent(
    extension: Extension, request: GeneratePatchesRequest, name: str
) -> None:
    """Check that patching already patched templates changes nothing."""
    once = await _apply_patches(extension, request, name)
    again = await _apply_patches(extension, once, name)
    for before, after in zip(once.templates, again.templates, strict=True):
        changed = merge_patch.difference(before.object, after.object)
        assert not changed, f"{name} changes {before.uid} again when it is patched: {changed}"


async def check_rules(extension: Extension) -> None:
    """Check the rules of `kapy conformance extension` for every handler."""

    way = InProcess(extension=extension)

    async def post(path: str, body: bytes) -> Answer:
        return await way(ClientConfig(), f"https://extension{path}", body)

    broken = [
        finding for finding in await check_extension(post, own_catalog()) if not finding.holds
    ]
    result = "\n".join(
        f"{finding.handler or 'the extension'}: {finding.rule}: {finding.why}" for finding in broken
    )
    assert not broken, f"rules are not kept:\n{result}"


class InProcess:
    """A transport to extensions in this process, by the host of their URLs. For a plane in a test:
    `management_plane(..., post=InProcess(gate=extension))` serves `https://gate`."""

    def __init__(self, **extensions: Extension) -> None:
        self._extensions = extensions

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:  # noqa: ARG002
        parts = urlsplit(url)
        extension = self._extensions.get(parts.hostname or "")
        if extension is None:
            raise NoAnswer(f"there is no extension {parts.hostname} in this process")
        answered = await extension.dispatch(parts.path, body)
        return Answer(404, b"") if answered is None else Answer(200, answered)

    async def aclose(self) -> None:
        """Do nothing: a call in process opens no connection."""


async def _call(extension: Extension, hook: Hook[Req, Any], request: Req, name: str) -> bytes:
    path = extension.route(hook, name).hook.path(name)
    answered = await extension.dispatch(path, hook.encode_request(request))
    assert answered is not None, path
    return answered


async def _apply_patches(
    extension: Extension, request: GeneratePatchesRequest, name: str
) -> GeneratePatchesRequest:
    response = await ask(extension, GENERATE_PATCHES, request, name)
    assert response.status == SUCCESS, f"{name} failed: {response.message}"
    objects = {item.uid: item.object for item in request.templates}
    for patch in response.items:
        assert patch.uid in objects, f"{name} patches {patch.uid}, which nobody asked for"
        objects[patch.uid] = _patch_document(objects[patch.uid], patch)
    items = [msgspec.structs.replace(item, object=objects[item.uid]) for item in request.templates]
    return msgspec.structs.replace(request, items=items)


def _patch_document(document: Document, patch: GeneratePatchesResponseItem) -> Document:
    content = msgspec.json.decode(patch.patch or b"null")
    if patch.patch_type == JSON_MERGE_PATCH:
        result: Document = merge_patch.apply(document, content or {})
    else:
        result = strict_json_patch.apply(document, strict_json_patch.parse_patch(content))
    return result
