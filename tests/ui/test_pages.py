"""The pages of a plane, without a browser: who may see what, and what others may not do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, sample
from kapy.apps.settings import Settings
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.http import ADMIN, ANONYMOUS, User
from kapy.kube.names import Resource
from kapy.testing import on_virtual_time
from kapy.ui.application import FleetPages
from kapy.ui.rendering import asset_url
from tests.ui.visitor import Visitor, visiting

SHEPHERD = User("shepherd", ("system:authenticated",))
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
GLOBAL = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


@asynccontextmanager
async def _farm(user: User = ADMIN) -> AsyncIterator[tuple[ManagementPlane, Visitor]]:
    """A plane with the sample cluster, ready, and one who looks at it."""
    clock = loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        await apply_manifests(plane.client, sample())
        await asyncio.sleep(120)
        async with visiting(plane.server, clock, user) as visitor:
            yield plane, visitor


@on_virtual_time
async def test_the_fleet_and_a_cluster_are_shown() -> None:
    async with _farm() as (_, visitor):
        fleet = await visitor.get("/")
        page = await visitor.get("/clusters/default/capybara?all=1")
        part = await visitor.get("/", hx_request="true")
    assert "capybara" in fleet.text
    assert 'class="state ready"' in fleet.text
    for word in ("Nothing is waited for", "DevMachine", "Machine ready", "EtcdMemberHealthy"):
        assert (word in page.text) == (word != "EtcdMemberHealthy"), word
    assert "kapy get kubeconfig capybara -n default &gt; capybara.kubeconfig" in page.text
    assert "<html" not in part.text


@on_virtual_time
async def test_links_of_objects_lead_to_their_yaml() -> None:
    async with _farm() as (_, visitor):
        page = await visitor.get("/clusters/default/capybara?all=1")
        links = {part.partition('"')[0] for part in page.text.split('href="/ui')[1:]}
        objects = sorted(link for link in links if link.startswith("/objects/"))
        answers = [await visitor.get(link) for link in objects]
        secret = await visitor.get("/objects/core/v1/secrets/default/capybara-ca")
    assert len(objects) > 10
    assert [answer.status for answer in answers] == [200] * len(answers)
    assert all("managedFields" not in answer.text.split("Managed fields")[0] for answer in answers)
    assert secret.status == 403


@on_virtual_time
async def test_a_cluster_of_a_kind_that_no_provider_serves_is_reported_to_need_one() -> None:
    kind = "awsclusters.infrastructure.cluster.x-k8s.io"
    async with _farm() as (plane, visitor):
        objects: list[Document] = json.loads(json.dumps(list(sample())).replace("capybara", "a"))
        cluster = next(document for document in objects if document["kind"] == "Cluster")
        cluster["spec"]["infrastructureRef"]["kind"] = "AWSCluster"
        await apply_manifests(plane.client, [cluster])
        await asyncio.sleep(120)
        lacking = await visitor.get("/clusters/default/a")
        complete = await visitor.get("/clusters/default/capybara")
    assert f"does not know <b>{kind}</b>: no provider" in lacking.text
    assert "does not know" not in complete.text


@on_virtual_time
async def test_a_change_is_reported_to_open_pages() -> None:
    async with (
        _farm() as (plane, visitor),
        visitor.listen("/live-fleet") as fleet,
        visitor.listen("/live-cluster/default/capybara") as cluster,
    ):
        await asyncio.sleep(5)
        while not fleet.empty():
            fleet.get_nowait()
        while not cluster.empty():
            cluster.get_nowait()
        await apply_manifests(plane.client, [{**sample()[0], "metadata": _paused(sample()[0])}])
        async with asyncio.timeout(5):
            assert "event: change" in await fleet.get()
            assert "event: change" in await cluster.get()


def _paused(document: dict[str, dict[str, object]]) -> dict[str, object]:
    return {**document["metadata"], "annotations": {"cluster.x-k8s.io/paused": ""}}


@on_virtual_time
async def test_a_viewer_sees_the_objects_of_their_permissions() -> None:
    async with _farm(SHEPHERD) as (plane, visitor):
        nothing = await visitor.get("/")
        refused = await visitor.get("/clusters/default/capybara")
        rules = [{"apiGroups": ["cluster.x-k8s.io"], "resources": ["clusters"],
                  "verbs": ["get", "list", "watch"]}]  # fmt: skip
        await plane.client.create(NAMESPACES, {"metadata": {"name": "other"}, **_kind(NAMESPACES)})
        metadata = {"name": "looker", "namespace": "default"}
        await plane.client.create(ROLES, {**_kind(ROLES), "metadata": metadata, "rules": rules})
        subject = {"kind": "User", "name": "shepherd", "apiGroup": ROLES.group}
        role = {"apiGroup": ROLES.group, "kind": "Role", "name": "looker"}
        binding = {**_kind(BINDINGS), "metadata": metadata, "subjects": [subject], "roleRef": role}
        await plane.client.create(BINDINGS, binding)
        await asyncio.sleep(15)
        some = await visitor.get("/")
        page = await visitor.get("/clusters/default/capybara")
    assert "list clusters in no namespace" in nothing.text
    assert refused.status == 403
    assert ">capybara<" in some.text
    assert "that you may see: default" in some.text
    assert page.status == 200
    assert "do not allow you to read: devclusters, events, kubeadmcontrolplanes" in page.text
    assert "Machine capybara" not in page.text


def _kind(resource: Resource) -> dict[str, object]:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


@on_virtual_time
async def test_a_right_that_is_withdrawn_ends() -> None:
    async with _farm(SHEPHERD) as (plane, visitor):
        subject = {"kind": "User", "name": "shepherd", "apiGroup": ROLES.group}
        role = {"apiGroup": ROLES.group, "kind": "ClusterRole", "name": "cluster-admin"}
        metadata = {"name": "all"}
        await plane.client.create(
            GLOBAL, {**_kind(GLOBAL), "metadata": metadata, "subjects": [subject], "roleRef": role}
        )
        before = await visitor.get("/")
        await plane.client.delete(GLOBAL, Key("", "all"))
        await asyncio.sleep(11)
        after = await visitor.get("/")
    assert ">capybara<" in before.text
    assert ">capybara<" not in after.text


@on_virtual_time
async def test_forged_requests_are_refused() -> None:
    async with _farm() as (_, visitor):
        stranger = Visitor(visitor.pages)
        page = await visitor.get("/")
        statuses = {
            "no session": (await stranger.get("/")).status,
            "no page": (await visitor.get("/nothing")).status,
            "too many segments": (await visitor.get("/clusters/a/b/c")).status,
            "no cluster": (await visitor.get("/clusters/default/nobody")).status,
            "escaped path": (await visitor.get("/clusters/default/..%2f..%2fapi")).status,
            "no token": (await visitor.post("/logout", {})).status,
            "wrong token": (await visitor.post("/logout", {"csrf": "é"})).status,
            "other origin": (
                await visitor.post("/logout", {}, origin="https://evil.example")
            ).status,
            "other site": (await visitor.post("/logout", {}, sec_fetch_site="cross-site")).status,
            "method": (await visitor.send("DELETE", "/")).status,
            "asset": (await visitor.get("/assets/x/..%2f..%2fpage.py")).status,
            "no form": (await visitor.send("POST", "/logout", b"{}", {})).status,
            "many fields": (await visitor.get("/?" + "&".join("a=1" for _ in range(99)))).status,
            "used link": (await visitor.get("/login?token=x")).status,
        }
    assert statuses == {
        "no session": 401,
        "no page": 404,
        "too many segments": 404,
        "no cluster": 404,
        "escaped path": 404,
        "no token": 403,
        "wrong token": 403,
        "other origin": 403,
        "other site": 403,
        "method": 405,
        "asset": 404,
        "no form": 415,
        "many fields": 400,
        "used link": 403,
    }
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "<script>" not in page.text
    assert " style=" not in page.text
    assert " onclick" not in page.text


@on_virtual_time
async def test_links_require_api_credentials() -> None:
    async with _farm() as (_, visitor):
        stranger = Visitor(visitor.pages)
        refused = await stranger.send("POST", "/links", b"{}", user=ANONYMOUS)
        link = await stranger.send("POST", "/links", b'{"allowActions": true}', user=SHEPHERD)
        broken = await stranger.send("POST", "/links", b"{", user=SHEPHERD)
        logged_in = await stranger.get(json.loads(link.text)["path"].removeprefix("/ui"))
        cookie = logged_in.headers["set-cookie"]
    assert (refused.status, link.status, broken.status) == (401, 201, 400)
    assert cookie.endswith("; Path=/ui; HttpOnly; SameSite=Strict; Secure")


@on_virtual_time
async def test_logging_out_ends_the_session() -> None:
    async with _farm() as (_, visitor):
        answer = await visitor.submit("/logout", {})
        after = await visitor.get("/")
    assert (answer.status, after.status) == (303, 401)


@pytest.mark.parametrize("name", ["htmx.min.js", "kapy.css", "kapy.svg"])
@on_virtual_time
async def test_assets_need_no_session_and_stay_with_the_browser(name: str) -> None:
    pages = FleetPages(lambda _: None, clock=loop_clock())  # type: ignore[arg-type,return-value]
    answer = await Visitor(pages).get(asset_url(name).removeprefix("/ui"))
    assert answer.status == 200
    assert "immutable" in answer.headers["cache-control"]


@on_virtual_time
async def test_a_failure_of_the_plane_is_shown_unchanged() -> None:
    pages = FleetPages(lambda _: None, clock=loop_clock())  # type: ignore[arg-type,return-value]
    with pytest.raises(KapyError, match="the port is taken"):
        async with pages.running():
            raise KapyError("the port is taken")
