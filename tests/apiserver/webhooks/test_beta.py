"""Webhooks that speak v1beta1, and those that speak what the server does not know."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kapy.kube import Document
from tests.apiserver.requester import CRDS, GIZMOS, gizmo
from tests.apiserver.webhooks.test_conversion import V1, V2, convert, definition, thing
from tests.apiserver.webhooks.webhook_server import (
    CONFIGURATIONS,
    Hooks,
    configure,
    hook,
    plane,
    serving,
)

pytestmark = pytest.mark.sockets

ADMISSION = "admission.k8s.io/"
CONVERSION = "apiextensions.k8s.io/"


def patched(**answer: Any) -> Document:
    """A patch that adds a label."""
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patch": encoded, **answer}


@pytest.mark.parametrize(
    ("versions", "version"),
    [
        (["v1beta1"], "v1beta1"),
        (["v1beta1", "v1"], "v1beta1"),
        (["v2", "v1beta1"], "v1beta1"),
        (["v1", "v1beta1"], "v1"),
    ],
)
async def test_the_first_known_review_version_is_used(versions: list[str], version: str) -> None:
    async with serving() as hooks, plane() as me:
        hooks.answers["/x"] = lambda _: {"allowed": True}
        document = hook("a.hook.dev", f"{hooks.base}/x", admissionReviewVersions=versions)
        await configure(me, "validating", document)
        await me.create(GIZMOS, gizmo("one"))
        assert hooks.versions == [ADMISSION + version]


async def test_a_beta_answer_needs_no_uid_and_no_type_of_its_patch() -> None:
    async with serving() as hooks, plane() as me:
        hooks.answers["/x"] = lambda _: patched(uid="")
        document = hook("a.hook.dev", f"{hooks.base}/x", admissionReviewVersions=["v1beta1"])
        await configure(me, "mutating", document)
        created = await me.create(GIZMOS, gizmo("one"))
        assert created["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (patched(), "webhook returned response.patch but not response.patchType"),
        (patched(patchType="JSONPatch", uid="u"), "expected response.uid="),
    ],
)
async def test_an_invalid_v1_response_is_refused(answer: Document, message: str) -> None:
    async with serving() as hooks, plane() as me:
        hooks.answers["/x"] = lambda _: answer
        await configure(me, "mutating", hook("a.hook.dev", f"{hooks.base}/x"))
        status, body = await me.ask("POST", GIZMOS, gizmo("one"))
        assert status == 500
        assert message in body["message"]


async def test_a_webhook_of_unknown_versions_is_refused() -> None:
    message = 'Invalid value: ["v2","v3"]: must include at least one of v1, v1beta1'
    async with plane() as me:
        document = hook("a.hook.dev", "https://x.dev", admissionReviewVersions=["v2", "v3"])
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [document],
        }
        status, body = await me.ask("POST", CONFIGURATIONS.format("validating"), configuration)
        assert (status, body["details"]["causes"]) == (
            422,
            [
                {
                    "reason": "FieldValueInvalid",
                    "message": message,
                    "field": "webhooks[0].admissionReviewVersions",
                }
            ],
        )


def speaking(hooks: Hooks, *versions: str) -> Document:
    """The definition whose webhook speaks these versions."""
    crd = definition(hooks)
    crd["spec"]["conversion"]["webhook"]["conversionReviewVersions"] = list(versions)
    return crd


@pytest.mark.parametrize(
    ("versions", "version"),
    [(["v1beta1", "v1beta2"], "v1beta1"), (["v1beta1", "v1"], "v1beta1"), (["v2", "v1"], "v1")],
)
async def test_objects_are_converted_in_the_first_known_version(
    versions: list[str], version: str
) -> None:
    async with serving() as hooks, plane() as me:
        hooks.answers["/convert"] = convert
        await me.create(CRDS, speaking(hooks, *versions))
        await me.create(V1, thing("v1", "a", "A"))
        assert (await me.get(f"{V2}/a"))["spec"] == {"hostName": "A"}
        assert set(hooks.versions) == {CONVERSION + version}


async def test_a_beta_conversion_needs_no_uid() -> None:
    async with serving() as hooks, plane() as me:
        hooks.answers["/convert"] = lambda request: {**convert(request), "uid": ""}
        await me.create(CRDS, speaking(hooks, "v1beta1"))
        await me.create(V1, thing("v1", "a", "A"))
        assert (await me.get(f"{V2}/a"))["spec"] == {"hostName": "A"}
