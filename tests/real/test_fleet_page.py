"""The fleet page over an API server that is not this process, for a user with few rights."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.apps.fleet_pages import LOCAL_USER, local_pages
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.kube import Document, Key
from kapy.kube.names import NAMESPACES, Resource
from tests.real.installed import Installed, cluster
from tests.real.servers import Place
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

RBAC = "rbac.authorization.k8s.io"
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
ROLES = Resource(RBAC, "v1", "roles", "Role")
BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
USER = "shepherd"


def _object(resource: Resource, namespace: str, name: str, **more: object) -> Document:
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **more
    }  # fmt: skip


async def _grant(client: Client, namespace: str) -> str:
    """Make a user who may read Clusters and Machines of a namespace; return their token."""
    await client.create(ACCOUNTS, _object(ACCOUNTS, namespace, USER))
    rule = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["clusters", "machines"],
            "verbs": ["get", "list", "watch"]}  # fmt: skip
    await client.create(ROLES, _object(ROLES, namespace, USER, rules=[rule]))
    reference = {"apiGroup": RBAC, "kind": "Role", "name": USER}
    subject = {"kind": "ServiceAccount", "name": USER, "namespace": namespace}
    binding = _object(BINDINGS, namespace, USER, roleRef=reference, subjects=[subject])
    await client.create(BINDINGS, binding)
    path = f"{ACCOUNTS.path(namespace)}/{USER}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token: str = (await client.raw("POST", path, body=body))["status"]["token"]
    return token


class Browser:
    """A logged-in session of the page."""

    def __init__(self, session: aiohttp.ClientSession, cookie: str) -> None:
        self._session = session
        self._headers = {"cookie": cookie}

    async def get(self, path: str) -> tuple[int, str]:
        """Read a page: status and text."""
        async with self._session.get(f"/ui{path}", headers=self._headers) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, **form: str) -> int:
        """Send a form of this session; return the status."""
        _, page = await self.get("/")
        match = re.search(r'name="csrf" value="([^"]+)"', page)
        assert match is not None
        form["csrf"] = match[1]
        async with self._session.post(
            f"/ui{path}", headers=self._headers, data=form, allow_redirects=False
        ) as answer:
            return answer.status

    async def await_change(self, since: str) -> None:
        """Wait until the fleet has changed since a page."""
        path = f"/ui/live-fleet?since={since}"
        async with self._session.get(path, headers=self._headers) as events:
            while b"change" not in await events.content.readline():
                pass


@asynccontextmanager
async def _browsing(there: Place, token: str, namespace: str) -> AsyncIterator[Browser]:
    """A session that may do actions, as the user of a token."""
    transport = ApiTransport(
        replace(there.access, token=token, client_certificate=b"", client_key=b"")
    )
    serving = local_pages(
        Client(transport), clock=system_clock, port=0, namespace=namespace, plan=None
    )
    async with serving as (pages, url), aiohttp.ClientSession(url) as session:
        async with session.get(pages.login_path(LOCAL_USER, allow_actions=True)) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        yield Browser(session, cookie)
        await pages.stop()
    await transport.aclose()


async def test_a_viewer_sees_and_changes_the_objects_that_rbac_allows(
    there: Place, installed: Installed, client: Client, namespace: str
) -> None:
    other = f"{namespace}-other"
    await client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    )
    for place in (namespace, other):
        await client.create(Cluster.RESOURCE, cluster(Key(place, f"herd-of-{place}")))
    token = await _grant(client, namespace)
    own, foreign = (f"/clusters/{place}/herd-of-{place}" for place in (namespace, other))
    async with asyncio.timeout(LIMIT), _browsing(there, token, namespace) as browser:
        status, fleet = await browser.get("/")
        while f"herd-of-{namespace}" not in fleet:  # grants take a moment
            await asyncio.sleep(11)
            status, fleet = await browser.get("/")
        assert status == 200
        assert f"herd-of-{other}" not in fleet
        assert f"that you may see: {namespace}" in fleet
        status, page = await browser.get(own)
        assert status == 200
        assert "Your rights do not allow you to read" in page
        assert "events" in page.partition("not allow you to read")[2].partition("</p>")[0]
        assert 'name="action"' not in page
        assert (await browser.get(foreign))[0] == 403
        assert (
            await browser.post(f"/actions/{namespace}/herd-of-{namespace}", action="pause") == 403
        )
        match = re.search(r"live-fleet\?since=(\d+)", fleet)
        assert match is not None
        await client.create(Cluster.RESOURCE, cluster(Key(namespace, "kid")))
        await browser.await_change(match[1])
        assert "kid" in (await browser.get("/"))[1]
    assert (
        await client.get(Cluster, Key(namespace, f"herd-of-{namespace}"))
    ).spec.paused is not True
    await client.delete(NAMESPACES, Key("", other))
