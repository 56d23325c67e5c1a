"""Webhooks over TLS: what is asked, in which order, and what comes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from kapy.apiserver.admission.plugin import Review
from kapy.kube import Document
from kapy.kube.names import Resource
from tests.apiserver.requester import GIZMOS, Asking, gizmo
from tests.apiserver.webhooks.webhook_server import (
    CONFIGURATIONS,
    allow,
    bundle,
    configure,
    deny,
    hook,
    patch,
    plane,
    serving,
)

pytestmark = pytest.mark.sockets


async def refused(asking: Asking, document: Document, **query: str) -> tuple[int, str]:
    status, body = await asking.ask("POST", GIZMOS, document, **query)
    assert status >= 400
    return status, body["message"]


async def test_a_webhook_service_is_called_at_its_configured_address() -> None:
    async with serving("s.n.svc") as hooks:
        places = {("n", "s", 443): hooks.base}
        async with plane(places) as asking:
            hooks.answers["/check"] = deny("no")
            service = {"namespace": "n", "name": "s", "path": "/check"}
            client = {"service": service, "caBundle": bundle()}
            await configure(asking, "validating", hook("a.hook.dev", client))
            text = 'admission webhook "a.hook.dev" denied the request: no'
            assert await refused(asking, gizmo("one")) == (400, text)
            places.clear()
            status, message = await refused(asking, gizmo("one"))
            assert status == 500
            assert message.endswith(
                'failed to call webhook: Post "https://s.n.svc:443/check?timeout=10s": '
                'service "s" not found'
            )


async def test_a_service_address_may_cover_all_ports() -> None:
    async with serving("s.n.svc") as hooks:
        places = {("n", "s", 0): hooks.base, ("n", "s", 9): "https://127.0.0.1:1"}
        async with plane(places) as asking:
            hooks.answers["/check"] = deny("no")
            for port, status in ((443, 400), (8443, 400), (9, 500)):
                service = {"namespace": "n", "name": "s", "path": "/check", "port": port}
                client = {"service": service, "caBundle": bundle()}
                checked = hook("a.hook.dev", client)
                await configure(asking, "validating", checked, name=f"at-{port}")
                assert (await refused(asking, gizmo("one")))[0] == status
                await asking.delete(f"{CONFIGURATIONS.format('validating')}/at-{port}")


async def test_a_certificate_of_another_name_or_authority_is_not_trusted() -> None:
    async with serving() as hooks, plane(lambda _: hooks.base) as asking:
        hooks.answers["/check"] = allow
        service = {"service": {"namespace": "n", "name": "s", "path": "/check"}}
        named = hook("a.hook.dev", {**service, "caBundle": bundle()})
        await configure(asking, "validating", named)
        assert "tls: failed to verify certificate" in (await refused(asking, gizmo("one")))[1]
        await asking.delete(f"{CONFIGURATIONS.format('validating')}/hooks")
        unknown = hook("a.hook.dev", {"url": f"{hooks.base}/check"})
        await configure(asking, "validating", unknown)
        _, message = await refused(asking, gizmo("one"))
        assert message.endswith("x509: certificate signed by unknown authority")
        assert hooks.received == {}


async def test_webhook_configurations_apply_from_their_creation_to_their_deletion() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/no"] = deny("no")
        await configure(asking, "validating", hook("a.hook.dev", f"{hooks.base}/no"))
        await refused(asking, gizmo("one"))
        await asking.delete(f"{CONFIGURATIONS.format('validating')}/hooks")
        await asking.create(GIZMOS, gizmo("one"))
        assert not asking.server.context.admission.has_webhooks


async def test_mutating_webhooks_are_called_in_order_and_their_result_is_validated() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/b"] = patch({"op": "replace", "path": "/spec/color", "value": "blue"})
        hooks.answers["/a"] = patch({"op": "add", "path": "/spec/unknown", "value": 1})
        hooks.answers["/see"] = allow
        await configure(asking, "mutating", hook("b.hook.dev", f"{hooks.base}/b"), name="two")
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/a"), name="one")
        await configure(asking, "validating", hook("v.hook.dev", f"{hooks.base}/see"))
        result = await asking.create(GIZMOS, gizmo("one", color="red"))
        assert result["spec"] == {"color": "blue", "replicas": 1}
        assert [document["object"]["spec"]["color"] for document in hooks.asked("/b")] == ["red"]
        assert [document["object"]["spec"]["color"] for document in hooks.asked("/see")] == ["blue"]
        assert hooks.asked("/see")[0]["object"]["metadata"]["uid"] == result["metadata"]["uid"]


async def test_later_webhooks_see_unknown_fields_that_are_not_stored() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/a"] = patch({"op": "add", "path": "/spec/unknown", "value": 1})
        hooks.answers["/b"] = hooks.answers["/see"] = allow
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/a"), name="one")
        await configure(asking, "mutating", hook("b.hook.dev", f"{hooks.base}/b"), name="two")
        await configure(asking, "validating", hook("v.hook.dev", f"{hooks.base}/see"))
        result = await asking.create(GIZMOS, gizmo("one", color="red"))
        changed = await asking.merge(f"{GIZMOS}/one", {"metadata": {"labels": {"a": "b"}}})
        for path in ("/b", "/see"):
            assert [
                document["object"]["spec"].get("unknown") for document in hooks.asked(path)
            ] == [1, 1]
        assert result["spec"] == changed["spec"] == {"color": "red", "replicas": 1}
        assert changed["metadata"]["generation"] == 2  # the object that was asked about differed


async def test_webhooks_are_called_before_an_update_without_a_revision_is_refused() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/m"] = hooks.answers["/v"] = allow
        await asking.create(GIZMOS, gizmo("one"))
        await configure(asking, "mutating", hook("m.hook.dev", f"{hooks.base}/m"))
        await configure(asking, "validating", hook("v.hook.dev", f"{hooks.base}/v"))
        status, body = await asking.ask("PUT", f"{GIZMOS}/one", gizmo("one"))
        assert (status, "must be specified for an update" in body["message"]) == (422, True)
        (request,) = hooks.asked("/m")
        assert "uid" not in request["object"]["metadata"]  # which the writer did not send
        assert hooks.asked("/v") == []


async def test_a_review_names_the_request_even_if_the_object_has_another_name() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/m"] = patch({"op": "replace", "path": "/metadata/name", "value": "two"})
        hooks.answers["/v"] = allow
        await configure(asking, "mutating", hook("m.hook.dev", f"{hooks.base}/m"))
        await configure(asking, "validating", hook("v.hook.dev", f"{hooks.base}/v"))
        assert (await asking.create(GIZMOS, gizmo("one")))["metadata"]["name"] == "two"
        hooks.answers["/m"] = allow
        assert [document.get("name") for document in hooks.asked("/v")] == ["one"]
        assert (await asking.ask("DELETE", GIZMOS))[0] == 200
        assert [document.get("name") for document in hooks.asked("/v")] == ["one", None]


async def test_a_mutation_of_an_update_counts_as_a_change_and_is_validated() -> None:
    async with serving() as hooks, plane() as asking:
        await asking.create(GIZMOS, gizmo("one", color="red"))
        hooks.answers["/a"] = patch({"op": "replace", "path": "/spec/color", "value": "blue"})
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/a"))
        path = f"{GIZMOS}/one"
        changed = await asking.merge(path, {"metadata": {"labels": {"a": "b"}}})
        assert (changed["spec"]["color"], changed["metadata"]["generation"]) == ("blue", 2)
        hooks.answers["/a"] = patch({"op": "replace", "path": "/spec/color", "value": "mauve"})
        media = "application/merge-patch+json"
        status, body = await asking.ask("PATCH", path, {"spec": {"replicas": 2}}, media)
        assert (status, body["reason"]) == (422, "Invalid")


async def test_webhooks_are_called_for_an_update_without_changes_too() -> None:
    async with serving() as hooks, plane() as asking:
        result = await asking.create(GIZMOS, gizmo("one"))
        hooks.answers["/a"] = allow
        await configure(asking, "validating", hook("a.hook.dev", f"{hooks.base}/a"))
        same = await asking.merge(f"{GIZMOS}/one", {"spec": {"color": "red"}})
        assert same["metadata"]["resourceVersion"] == result["metadata"]["resourceVersion"]
        assert [document["operation"] for document in hooks.asked("/a")] == ["UPDATE"]


async def test_only_webhooks_before_the_last_change_are_reinvoked() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/a"] = hooks.answers["/c"] = allow
        hooks.answers["/b"] = patch({"op": "replace", "path": "/spec/color", "value": "blue"})
        again: dict[str, Any] = {"reinvocationPolicy": "IfNeeded"}
        mutating = [hook(f"{n}.hook.dev", f"{hooks.base}/{n}", **again) for n in "abc"]
        await configure(asking, "mutating", *mutating)
        await asking.create(GIZMOS, gizmo("one", color="red"))
        colors = {
            n: [document["object"]["spec"]["color"] for document in hooks.asked(f"/{n}")]
            for n in "abc"
        }
        assert colors == {"a": ["red", "blue"], "b": ["red"], "c": ["blue"]}


async def test_a_scale_is_shown_and_mutated_as_a_scale() -> None:
    async with serving() as hooks, plane() as asking:
        await asking.create(GIZMOS, gizmo("one", color="red"))
        hooks.answers["/a"] = patch({"op": "replace", "path": "/spec/replicas", "value": 7})
        rule = {
            "apiGroups": ["example.dev"],
            "apiVersions": ["v1"],
            "operations": ["UPDATE"],
            "resources": ["gizmos/scale"],
        }
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/a", rules=[rule]))
        scale = await asking.merge(f"{GIZMOS}/one/scale", {"spec": {"replicas": 3}})
        assert scale["spec"] == {"replicas": 7}
        assert (await asking.get(f"{GIZMOS}/one"))["spec"] == {"color": "red", "replicas": 7}
        (request,) = hooks.asked("/a")
        assert (request["kind"]["kind"], request["object"]["spec"]) == ("Scale", {"replicas": 3})


async def test_a_webhook_cannot_mutate_a_deletion() -> None:
    async with serving() as hooks, plane() as asking:
        await asking.create(GIZMOS, gizmo("one"))
        hooks.answers["/a"] = patch({"op": "add", "path": "/spec", "value": {}})
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/a"))
        status, body = await asking.ask("DELETE", f"{GIZMOS}/one")
        assert (status, body["message"]) == (
            500,
            'Internal error occurred: admission webhook "a.hook.dev" attempted to modify the '
            "object, which is not supported for this operation",
        )
        assert not await asking.gone(f"{GIZMOS}/one")


async def test_validating_webhooks_are_called_in_parallel_and_the_first_refusal_is_reported() -> (
    None
):
    async with serving() as hooks, plane() as asking:
        both = asyncio.Barrier(2)

        async def slow(_: Document) -> Document:
            await both.wait()
            await asyncio.sleep(0.2)
            return {"allowed": False, "status": {"message": "slow"}}

        async def fast(_: Document) -> Document:
            await both.wait()
            return {"allowed": False, "status": {"message": "fast"}}

        hooks.answers |= {"/slow": slow, "/fast": fast}
        validating = [hook(f"{n}.hook.dev", f"{hooks.base}/{n}") for n in ("slow", "fast")]
        await configure(asking, "validating", *validating)
        assert (await refused(asking, gizmo("one")))[1].endswith("denied the request: fast")


async def test_connections_are_kept_while_the_server_runs() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/a"] = allow
        await configure(asking, "validating", hook("a.hook.dev", f"{hooks.base}/a"))
        for name in ("one", "two", "three"):
            await asking.create(GIZMOS, gizmo(name))
        assert (len(hooks.asked("/a")), len(hooks.connections)) == (3, 1)


async def test_a_namespace_selector_uses_the_new_labels_of_a_written_namespace() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/a"] = deny("no")
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["namespaces", "configmaps", "nodes"],
        }
        selector = {"matchLabels": {"guarded": "yes"}}
        document = hook("a.hook.dev", f"{hooks.base}/a", rules=[rule], namespaceSelector=selector)
        await configure(asking, "validating", document)
        namespace: Document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
        await asking.create("/api/v1/namespaces", namespace)
        named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        await asking.create("/api/v1/namespaces/n/configmaps", named)
        guarded = {**namespace, "metadata": {"name": "m", "labels": {"guarded": "yes"}}}
        assert (await asking.ask("POST", "/api/v1/namespaces", guarded))[0] == 400
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}}
        assert (await asking.ask("POST", "/api/v1/nodes", node))[0] == 400, "in no namespace: asked"


async def test_webhooks_are_never_called_for_webhook_configurations() -> None:
    async with serving() as hooks, plane() as asking:
        hooks.answers["/a"] = deny("no")
        rule = {
            "apiGroups": ["*"],
            "apiVersions": ["*"],
            "operations": ["*"],
            "resources": ["*"],
        }
        document = hook("a.hook.dev", f"{hooks.base}/a", rules=[rule])
        await configure(asking, "validating", document)
        await refused(asking, gizmo("one"))
        await asking.delete(f"{CONFIGURATIONS.format('validating')}/hooks")
        await asking.create(GIZMOS, gizmo("one"))


def test_a_server_without_webhooks_has_no_plug_ins_and_no_client() -> None:
    import subprocess
    import sys

    program = (
        "import sys\n"
        "from kapy._aio.clock import system_clock\n"
        "from kapy.apiserver.server import Server\n"
        "server = Server.open(None, clock=system_clock)\n"
        "assert not server.context.admission.has_webhooks\n"
        "loaded = {'aiohttp', 'kapy.kube.cel', 'kapy.apiserver.webhooks.admission'}\n"
        "assert not loaded & set(sys.modules), loaded & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Painted:
    """A plug-in in process: what is green must be called so."""

    def handles(self, resource: Resource, subresource: str) -> bool:
        return resource.plural == "gizmos" and not subresource

    async def default(self, review: Review) -> Document:
        assert review.new is not None
        labels = {"color": review.new["spec"]["color"]}
        return {**review.new, "metadata": {**review.new["metadata"], "labels": labels}}

    async def validate(self, review: Review) -> Sequence[str]:
        return ()


async def test_plug_ins_see_changes_of_webhooks_and_webhooks_may_be_reinvoked() -> None:
    """A webhook that wants to know is asked again, as the plug-in changed something after it."""
    async with serving() as hooks, plane(admission=(Painted(),)) as asking:
        hooks.answers["/paint"] = patch({"op": "replace", "path": "/spec/color", "value": "blue"})
        willing = hook("a.hook.dev", f"{hooks.base}/paint", reinvocationPolicy="IfNeeded")
        await configure(asking, "mutating", willing)
        result = await asking.create(GIZMOS, gizmo("one"))
        assert (result["spec"]["color"], result["metadata"]["labels"]) == (
            "blue",
            {"color": "blue"},
        )
        objects = [request["object"] for request in hooks.asked("/paint")]
        assert [item["metadata"]["labels"]["color"] for item in objects] == ["red", "blue"]


async def test_a_new_webhook_configuration_applies_from_the_next_request() -> None:
    async with serving() as hooks, plane() as asking:
        blue = patch({"op": "replace", "path": "/spec/color", "value": "blue"})

        async def slow(request: Document) -> Document:
            await configure(asking, "validating", hook("b.hook.dev", f"{hooks.base}/b"), name="b")
            return await _awaited(blue(request))

        hooks.answers |= {"/slow": slow, "/b": allow}
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/slow"))
        await asking.create(GIZMOS, gizmo("one"))
        assert len(hooks.asked("/slow")) == 1


async def _awaited(answer: Document | Awaitable[Document]) -> Document:
    return answer if isinstance(answer, dict) else await answer


async def test_webhooks_are_called_for_reviews_and_tokens() -> None:
    rule = {"apiVersions": ["v1"], "operations": ["CREATE"]}
    reviews = {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"]}
    tokens = {"apiGroups": [""], "resources": ["serviceaccounts/token"]}
    rules = [{**rule, **reviews}, {**rule, **tokens}]
    async with serving() as hooks, plane() as asking:
        hooks.answers["/check"] = deny("no")
        await configure(
            asking, "validating", hook("a.hook.dev", f"{hooks.base}/check", rules=rules)
        )
        spec = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        status, body = await asking.ask("POST", path, spec)
        assert (status, body["message"].endswith("denied the request: no")) == (400, True)
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await asking.create(accounts, account)
        status, _ = await asking.ask("POST", f"{accounts}/robot/token", {"spec": {}})
        assert status == 400
        request = hooks.asked("/check")
        assert [
            (document["kind"]["kind"], document.get("subResource")) for document in request
        ] == [
            ("SelfSubjectAccessReview", None),
            ("TokenRequest", "token"),
        ]


async def test_a_token_is_issued_as_a_webhook_changed_the_request() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    rules = [{**rule, "resources": ["serviceaccounts/token"]}]
    async with serving() as hooks, plane() as asking:
        hooks.answers["/short"] = patch(
            {"op": "add", "path": "/spec/expirationSeconds", "value": 600}
        )
        await configure(asking, "mutating", hook("a.hook.dev", f"{hooks.base}/short", rules=rules))
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await asking.create(accounts, account)
        request = {"spec": {"expirationSeconds": 7200}}
        result = await asking.create(f"{accounts}/robot/token", request)
        assert result["spec"]["expirationSeconds"] == 600
