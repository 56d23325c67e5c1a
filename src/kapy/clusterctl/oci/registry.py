"""A registry repository: manifests, blobs and tags, by the OCI distribution specification.

Content is always checked against its digest, regardless of what the registry reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.oci.artifact import DIGEST, INDEX, MANIFEST, Artifact, digest_of
from kapy.clusterctl.oci.credentials import Credentials, authorization
from kapy.clusterctl.repository.web import (
    HttpResponse,
    ServerUnreached,
    WebClient,
    documented_errors,
    pages,
    refusal,
)
from kapy.kube.foreign_json import BadJson, decode_json

_DOCKER: Final = "application/vnd.docker.distribution.manifest"
ACCEPTED: Final = f"{MANIFEST}, {INDEX}, {_DOCKER}.v2+json, {_DOCKER}.list.v2+json"


class Registry:
    """A repository (`name`) of the registry at a base URL."""

    def __init__(self, base: str, name: str, web: WebClient, credentials: Credentials) -> None:
        self._base = base
        self._name = name
        self._web = web
        self._credentials = credentials
        self._authorization: dict[str, Mapping[str, str]] = {}

    @property
    def place(self) -> str:
        """The repository's URL in the registry's API."""
        return f"{self._base}/v2/{self._name}"

    async def manifest(self, reference: str) -> Mapping[str, Any]:
        """Return the manifest or index of a tag or digest. Raises FileMissing, RepositoryError."""
        answer = await self._read(f"/manifests/{reference}", {"Accept": ACCEPTED})
        result = reference if ":" in reference else answer.headers.get("docker-content-digest", "")
        _check(answer, result)
        with documented_errors(answer):
            document: Mapping[str, Any] = answer.json()
            document.keys()
            return document

    async def digest(self, reference: str) -> str:
        """Return the digest of a tag. Raises FileMissing, RepositoryError."""
        path = f"/manifests/{reference}"
        answer = await self._request("HEAD", self.place + path, {"Accept": ACCEPTED})
        result = answer.headers.get("docker-content-digest", "")
        if answer.status == 200 and DIGEST.fullmatch(result):
            return result
        return digest_of((await self._read(path, {"Accept": ACCEPTED})).body)

    async def blob(self, digest: str) -> bytes:
        """Return the content with a digest. Raises FileMissing, RepositoryError."""
        answer = await self._read(f"/blobs/{digest}", {})
        _check(answer, digest)
        return answer.body

    async def tags(self) -> list[str]:
        """Return all tags of the repository. Raises RepositoryError."""
        result: list[str] = []
        url = f"{self.place}/tags/list?n=1000"
        for _ in pages(self.place):
            answer = self._check_success(await self._request("GET", url, {}))
            with documented_errors(answer):
                result += [str(tag) for tag in answer.json()["tags"] or []]
            url = _next_page(answer, url)
            if not url:
                break
        return result

    async def push(self, artifact: Artifact, tag: str) -> None:
        """Push an artifact; existing blobs are not sent again.

        Raises RepositoryError.
        """
        for digest, content in artifact.blobs.items():
            await self._push_blob(digest, content)
        url = f"{self.place}/manifests/{tag}"
        result = {"Content-Type": MANIFEST}
        self._check_success(await self._request("PUT", url, result, artifact.manifest, push=True))

    async def _push_blob(self, digest: str, content: bytes) -> None:
        there = await self._request("HEAD", f"{self.place}/blobs/{digest}", {}, push=True)
        if there.status == 200:
            return
        begun = self._check_success(
            await self._request("POST", f"{self.place}/blobs/uploads/", {}, push=True)
        )
        with documented_errors(begun):
            place = urljoin(begun.url, begun.headers["location"])
        url = f"{place}{'&' if '?' in place else '?'}digest={digest}"
        result = {"Content-Type": "application/octet-stream"}
        self._check_success(await self._request("PUT", url, result, content, push=True))

    async def _read(self, path: str, headers: Mapping[str, str]) -> HttpResponse:
        return self._check_success(await self._request("GET", self.place + path, headers))

    async def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
        *,
        push: bool = False,
    ) -> HttpResponse:
        """Send a request, and authenticate if the registry demands it."""
        scope = f"repository:{self._name}:{'pull,push' if push else 'pull'}"
        auth_headers = self._authorization.get(scope, {})
        answer = await self._web.ask(method, url, {**headers, **auth_headers}, data)
        challenge = answer.headers.get("www-authenticate", "")
        if answer.status != 401 or not challenge:
            return answer
        auth_headers = await authorization(
            self._web,
            challenge,
            self._credentials,
            scope,
            tls=self._base.startswith("https://"),
        )
        self._authorization[scope] = auth_headers
        return (
            await self._web.ask(method, url, {**headers, **auth_headers}, data)
            if auth_headers
            else answer
        )

    def _check_success(self, answer: HttpResponse) -> HttpResponse:
        result = _refusal(answer)
        match answer.status:
            case 200 | 201 | 202:
                return answer
            case 401 | 403:
                raise RepositoryError(
                    f"{answer.url} is refused ({result}): OCI_USERNAME and OCI_PASSWORD, or "
                    "OCI_ACCESS_TOKEN, must have the right to it"
                )
            case 404:
                raise FileMissing(f"{answer.url} is not there ({result})")
            case 429:
                raise RepositoryError(
                    f"the rate limit of {self._base} is reached ({result}): wait, or log in with "
                    "OCI_USERNAME and OCI_PASSWORD"
                )
            case _:
                raise ServerUnreached(f"{answer.url} answered {result}; try again later")


def _check(answer: HttpResponse, digest: str) -> None:
    if digest.startswith("sha256:") and digest_of(answer.body) != digest:
        raise ServerUnreached(
            f"{answer.url} is not what its digest says: the registry, or something in between, is "
            "broken"
        )


def _next_page(answer: HttpResponse, url: str) -> str:
    link, _, relation = answer.headers.get("link", "").partition(";")
    return urljoin(url, link.strip(" <>")) if 'rel="next"' in relation else ""


def _refusal(answer: HttpResponse) -> str:
    """Return the status and the registry's error message."""
    try:
        error = decode_json(answer.body)["errors"][0]
        return f"{answer.status}: {error.get('message') or error['code']}"
    except (BadJson, LookupError, TypeError, AttributeError):
        return refusal(answer)
