"""HTTP servers on the loopback address that speak the APIs of places where releases are.

Each keeps `asked`: method and path of every request. `faults` are answers that are given first,
one a request, to requests whose path has a text in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aiohttp import BasicAuth, web

Files = Mapping[str, Mapping[str, bytes]]
"""Files of releases: version, name, content."""
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """url: its base. token: what it wants to be told, if anything."""

    answer: Callable[[Server, web.Request], Awaitable[web.StreamResponse]]
    url: str = ""
    token: str = ""
    asked: list[str] = field(default_factory=list)
    faults: list[tuple[str, Answer]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.raw_path}")
        for fault in self.faults:
            if fault[0] in request.raw_path:
                self.faults.remove(fault)
                return await fault[1](request)
        return await self.answer(self, request)

    def fail(self, path: str, answer: Answer, times: int = 1) -> None:
        """Give an answer to the next requests whose path has `path` in it."""
        self.faults += [(path, answer)] * times


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def status(code: int, message: str = "", **headers: str) -> Answer:
    """An answer that refuses."""

    async def answer(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"message": message}, status=code, headers=named)

    return answer


def saying(body: bytes, content_type: str) -> Answer:
    """An answer of another server, or of a proxy in between."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=content_type)

    return answer


async def broken_off(request: web.Request) -> web.StreamResponse:
    """An answer that ends in the middle."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"half")
    assert request.transport is not None
    request.transport.close()
    return response


def github(releases: Files, token: str = "") -> Server:
    """github.com and api.github.com in one, for the repository `herd/capybara`.

    Releases are listed three a page, whatever is asked for.
    """

    async def answer(server: Server, request: web.Request) -> web.StreamResponse:
        path = request.path
        authorization = request.headers.get("Authorization", "")
        if path.startswith("/repos/") and authorization not in ("", f"Bearer {server.token}"):
            return await status(401, "Bad credentials")(request)
        is_allowed = not server.token or authorization == f"Bearer {server.token}"
        download = re.fullmatch(r"/herd/capybara/releases/download/([^/]+)/(.+)", path)
        if download and not server.token:
            return _file(releases, download[1], download[2])
        if not is_allowed or not path.startswith("/repos/herd/capybara/releases"):
            return web.json_response({"message": "Not Found"}, status=404)
        return _github_api(releases, path.partition("/releases")[2], request)

    return Server(answer, token=token)


def _github_api(releases: Files, path: str, request: web.Request) -> web.StreamResponse:
    numbers = [(version, name) for version in releases for name in releases[version]]
    if path == "":
        page, size = int(request.query["page"]), int(request.query["per_page"])
        listed = list(releases)[(page - 1) * size : page * size]
        draft = [{"tag_name": "v99.0.0", "draft": True}] if page == 1 else []
        results = [{"tag_name": text, "draft": False} for text in listed]
        return web.json_response((results + draft)[:size])
    if path.startswith("/tags/") and path[6:] in releases:
        assets = [
            {
                "id": numbers.index((path[6:], name)),
                "name": name,
                "size": len(content),
                "digest": f"sha256:{sha256(content).hexdigest()}",
            }
            for name, content in releases[path[6:]].items()
        ]
        return web.json_response({"tag_name": path[6:], "assets": assets})
    if path.startswith("/assets/") and request.headers["Accept"] == "application/octet-stream":
        return _file(releases, *numbers[int(path[8:])])
    return web.json_response({"message": "Not Found"}, status=404)


def go_proxy(module: str, versions: Mapping[int, str]) -> Server:
    """A Go module proxy. versions: the list of each major version."""

    async def answer(_: Server, request: web.Request) -> web.StreamResponse:
        for major, text in versions.items():
            path = module if major == 1 else f"{module}/v{major}"
            if request.path == f"/{path}/@v/list":
                return web.Response(text=text)
        return web.Response(status=404, text="not found")

    return Server(answer)


def gitlab(releases: Files, token: str = "") -> Server:
    """GitLab's generic packages: the package `capi` of the project `herd/capybara`."""
    project = "/api/v4/projects/herd%2Fcapybara/packages"

    async def answer(server: Server, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("Authorization", "")
        if server.token and authorization != f"Bearer {server.token}":
            return await status(401 if authorization else 404, "401 Unauthorized")(request)
        path = request.raw_path.partition("?")[0]
        versions = list(releases)
        if path == project:
            wanted = request.query["package_version"]
            return web.json_response(
                [
                    {"id": at, "version": version}
                    for at, version in enumerate(versions)
                    if version == wanted
                ]
            )
        listed = re.fullmatch(re.escape(project) + r"/(\d+)/package_files", path)
        if listed:
            return _pages([{"file_name": n} for n in releases[versions[int(listed[1])]]], request)
        named = re.fullmatch(re.escape(project) + r"/generic/capi/([^/]+)/(.+)", path)
        return _file(releases, *named.groups()) if named else web.Response(status=404)

    return Server(answer, token=token)


def _pages(values: list[Any], request: web.Request) -> web.StreamResponse:
    """One a page, so that there are several."""
    page = int(request.query["page"])
    following = str(page + 1) if page < len(values) else ""
    return web.json_response(values[page - 1 : page], headers={"X-Next-Page": following})


def _file(releases: Files, version: str, name: str) -> web.StreamResponse:
    content = releases.get(version, {}).get(name)
    if content is None:
        return web.Response(status=404, text="Not Found")
    return web.Response(body=content, content_type="application/octet-stream")


@dataclass
class Registry:
    """A registry and its content.

    secret: the name and password that it requires, if any. The refresh token that it gave for
    them is `kept`.
    """

    secret: tuple[str, str] | None = None
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def server(self) -> Server:
        """A registry of the OCI distribution specification, with token authentication."""
        return Server(self._answer)

    async def _answer(self, server: Server, request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return await self._token(request)
        if self.secret and request.headers.get("Authorization") != f"Bearer {self._told(request)}":
            realm = f'Bearer realm="{server.url}/token",service="herd"'
            return web.json_response(
                {"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]},
                status=401,
                headers={"WWW-Authenticate": realm},
            )
        name, _, rest = request.path.removeprefix("/v2/").rpartition("/")
        name, kind = name.rsplit("/", 1) if "/" in name else (name, "")
        if kind == "tags":
            return self._tags(request, name)
        if kind == "manifests":
            return await self._manifest(request, f"{name}:{rest}")
        return await self._blob(request, rest)

    def _told(self, request: web.Request) -> str:
        right = "pull" if request.method == "GET" else "pull,push"
        return sha256(right.encode()).hexdigest()

    async def _token(self, request: web.Request) -> web.StreamResponse:
        authorization = request.headers.get("Authorization")
        form = await request.post()
        is_authorized = (
            bool(authorization) and BasicAuth.decode(authorization or "")[:2] == self.secret
        )
        if not is_authorized and form.get("refresh_token") != "kept":
            return web.Response(status=401)
        scope = str(form["scope"]) if form else request.query["scope"]
        token = sha256(scope.rpartition(":")[2].encode()).hexdigest()
        return web.json_response({"token": token})

    def _tags(self, request: web.Request, name: str) -> web.StreamResponse:
        """Two a page."""
        parts = sorted(key.split(":", 1)[1] for key in self.manifests if key.startswith(name + ":"))
        tags = [tag for tag in parts if not tag.startswith("sha256:")]
        last = request.query.get("last", "")
        following = [tag for tag in tags if tag > last]
        link = (
            f'</v2/{name}/tags/list?n=2&last={following[1]}>; rel="next"'
            if len(following) > 2
            else ""
        )
        headers = {"Link": link} if link else {}
        return web.json_response({"name": name, "tags": following[:2]}, headers=headers)

    async def _manifest(self, request: web.Request, key: str) -> web.StreamResponse:
        if request.method == "PUT":
            content = await request.read()
            digest = f"sha256:{sha256(content).hexdigest()}"
            missing = [
                document["digest"]
                for document in _named(content)
                if document["digest"] not in self.blobs
            ]
            if missing:
                return web.json_response({"errors": [{"code": "MANIFEST_INVALID"}]}, status=400)
            for text in (key, f"{key.split(':', 1)[0]}:{digest}"):
                self.manifests[text] = (request.headers["Content-Type"], content)
            return web.Response(status=201)
        if key not in self.manifests:
            return web.json_response(
                {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]},
                status=404,
            )
        kind, content = self.manifests[key]
        digest = f"sha256:{sha256(content).hexdigest()}"
        return web.Response(
            body=content, headers={"Content-Type": kind, "Docker-Content-Digest": digest}
        )

    async def _blob(self, request: web.Request, digest: str) -> web.StreamResponse:
        if request.method == "POST":
            return web.Response(
                status=202, headers={"Location": "/v2/herd/blobs/uploads/1?state=x"}
            )
        if request.method == "PUT":
            content = await request.read()
            if f"sha256:{sha256(content).hexdigest()}" != request.query["digest"]:
                return web.Response(status=400)
            self.blobs[request.query["digest"]] = content
            return web.Response(status=201)
        if digest not in self.blobs:
            return web.Response(status=404)
        return web.Response(body=self.blobs[digest])


def _named(manifest: bytes) -> list[dict[str, Any]]:
    document = json.loads(manifest)
    return [document["config"], *document["layers"]]
