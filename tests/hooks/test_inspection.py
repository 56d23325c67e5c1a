"""`kapy hooks list` and `kapy hooks call`, without a server."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from kapy.api.extension_config import ClientConfig, ExtensionConfig
from kapy.client.client import Listed
from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    GENERATE_PATCHES,
    BeforeClusterCreateRequest,
    Extension,
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    RetryResponse,
)
from kapy.hooks.catalog import own_catalog
from kapy.hooks.errors import HookError
from kapy.hooks.inspection import call_handler, list_handlers
from kapy.hooks.mutation import Template, patch_templates
from kapy.hooks.transport import Answer, NoAnswer
from kapy.kube import Document
from kapy.kube.meta import read


def config(name: str, problem: str = "", **handlers: str) -> ExtensionConfig:
    listed = [
        {
            "name": f"{handler}.{name}",
            "requestHook": {
                "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
                "hook": hook,
            },
            "timeoutSeconds": 5,
            "failurePolicy": "Fail",
        }
        for handler, hook in handlers.items()
    ]
    discovered = {
        "type": "Discovered",
        "status": "False" if problem else "True",
        "reason": "R",
        "message": problem,
    }
    return read(
        {
            "metadata": {"name": name},
            "spec": {
                "clientConfig": {"url": "https://127.0.0.1:1"},
                "settings": {"limit": "3"},
            },
            "status": {"handlers": listed, "conditions": [discovered]},
        },
        ExtensionConfig,
    )


class Configs:
    """A client of a plane that has these."""

    async def list(self, kind: Any) -> Listed[ExtensionConfig]:
        configs = [
            config("herd", quota="BeforeClusterCreate", patches="GeneratePatches"),
            config("dead", problem="connection refused"),
            config("later", odd="BeforeDinner"),
        ]
        return Listed(configs, "1")


CLIENT: Any = Configs()


def extension() -> Extension:
    extension = Extension()

    @extension.handles(BEFORE_CLUSTER_CREATE, name="quota")
    async def quota(request: BeforeClusterCreateRequest) -> RetryResponse:
        name = request.cluster["metadata"]["name"]
        return RetryResponse.wait(30, f"{name}: {request.settings['limit']} at most")

    @extension.handles(GENERATE_PATCHES, name="patches")
    async def patches(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
        return patch_templates(request, signed)

    return extension


def signed(template: Template) -> None:
    template.spec.update(adminPassword="hush", size="small")


class Posting:
    """The extension in process."""

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        answer = await extension().dispatch(urlsplit(url).path, body)
        return Answer(404, b"nothing is here") if answer is None else Answer(200, answer)

    async def aclose(self) -> None:
        pass


async def test_handlers_are_listed_with_their_errors() -> None:
    rows = [
        (handler.extension, handler.handler, handler.hook, handler.problem)
        for handler in await list_handlers(CLIENT)
    ]
    assert rows == [
        ("dead", "", "", "connection refused"),
        ("herd", "quota.herd", "BeforeClusterCreate", ""),
        ("herd", "patches.herd", "GeneratePatches", ""),
        ("later", "odd.later", "BeforeDinner", ""),
    ]


async def test_a_handler_answers_a_generated_or_a_recorded_request() -> None:
    handler = await call_handler(CLIENT, Posting(), own_catalog(), "quota.herd", None)
    assert (handler["message"], handler["retryAfterSeconds"]) == ("sample: 3 at most", 30)
    request: Document = {"cluster": {"metadata": {"name": "mine"}}}
    recorded = await call_handler(CLIENT, Posting(), own_catalog(), "quota.herd", request)
    assert recorded["message"] == "mine: 3 at most"


async def test_patches_are_readable_and_secrets_are_not() -> None:
    handler = await call_handler(CLIENT, Posting(), own_catalog(), "patches.herd", None)
    assert [item["patch"] for item in handler["items"]] == [
        {"spec": {"adminPassword": "(not shown)", "size": "small"}}
    ]
    assert b"hush" not in msgspec.json.encode(handler)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("quota", "was not in the expected format"),
        ("quota.nobody", "there is no ExtensionConfig nobody; there are: dead, herd, later"),
        ("other.herd", "herd has no handler other.herd; it has: quota.herd, patches.herd"),
        ("odd.later", "BeforeDinner of hooks.runtime.cluster.x-k8s.io/v1alpha1 is none of the"),
    ],
)
async def test_a_handler_that_is_not_there_is_reported(name: str, sentence: str) -> None:
    with pytest.raises(HookError) as refused:
        await call_handler(CLIENT, Posting(), own_catalog(), name, None)
    assert sentence in str(refused.value)


class Deaf(Posting):
    """An extension that never answers."""

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        await asyncio.sleep(3600)
        raise AssertionError


async def test_a_handler_has_the_same_timeout_as_for_a_plane() -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(NoAnswer, match="no answer within 5s, which is the handler's timeout"):
        await call_handler(CLIENT, Deaf(), own_catalog(), "quota.herd", None)
    assert asyncio.get_running_loop().time() - began == 5
