"""GitHub releases as a source: tags are versions, assets are files.

Versions come from a Go module proxy and files from plain downloads, because these do not count
against GitHub's rate limit. The API is used if both fail, and if GOPROXY is `off` or `direct`. Go
interprets GOPROXY in the same way: proxies are tried in order, up to `off` or `direct`, which mean
GitHub itself.

Upstream: `cmd/clusterctl/client/repository/repository_github.go` and `internal/goproxy/goproxy.go`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.oci.artifact import digest_of
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.releases import newest_first
from kapy.clusterctl.repository.web import (
    HttpResponse,
    ServerUnreached,
    WebClient,
    documented_errors,
    pages,
    refusal,
    secret,
)
from kapy.kube.version import InvalidVersion, Version, parse_tolerant

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config


DEFAULT_PROXY: Final = "https://proxy.golang.org"
_MISSING_STATUSES: Final = (404, 410)
_PAGE: Final = 100
_FORM: Final = (
    "error creating the GitHub repository client: invalid url: a GitHub repository url should be "
    "in the form https://github.com/{owner}/{Repository}/releases/{latest|version-tag}/"
    "{componentsClient.yaml}"
)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The base URLs of GitHub and of Go module proxies. proxies: the Go module proxies, in the
    order in which they are tried.
    """

    github: str = "https://github.com"
    api: str = "https://api.github.com"
    proxies: tuple[str, ...] = (DEFAULT_PROXY,)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a release. size: the size in bytes. digest: `sha256:…`, "" for a file of an older
    release.
    """

    number: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class GitHubSource:
    """The releases of one GitHub repository (`owner/name`), as a `Source`."""

    repository: str
    default: str
    components_file: str
    web: WebClient
    cache: Cache
    token: str = field(default="", repr=False)
    hosts: Hosts = Hosts()

    @property
    def place(self) -> str:
        return f"{self.hosts.github}/{self.repository}"

    async def versions(self) -> list[str]:
        for proxy in self.hosts.proxies:
            try:
                return await module_versions(self.web, proxy, f"github.com/{self.repository}")
            except ServerUnreached:
                continue  # fall back to GitHub itself
        return await self._tags()

    async def file(self, version: str, name: str) -> bytes:
        if not self.hosts.proxies:
            return await self._asset(version, name)
        url = f"{self.place}/releases/download/{version}/{name}"
        try:
            answer = await self.web.get(url)
        except ServerUnreached:
            return await self._asset(version, name)
        if answer.status == 200:
            return answer.file()
        if answer.status == 404 and not self.token:
            # The API would return the same, but allows sixty requests an hour only.
            raise self._missing(version, name)
        return await self._asset(version, name)

    async def files(self, version: str) -> list[str]:
        return sorted(await self._assets(version))

    async def blob(self, ref: str, path: str) -> bytes:
        """Return a file of a branch, tag or commit. Raises RepositoryError."""
        raw = {"Accept": "application/vnd.github.raw+json"}
        place = f"contents/{quote(path)}?ref={quote(ref, safe='')}"
        return (await self._api(place, raw)).file()

    async def _tags(self) -> list[str]:
        tags: list[str] = []
        for page in pages(self.place):
            answer = await self._api(f"releases?per_page={_PAGE}&page={page}")
            with documented_errors(answer):
                releases = answer.json()
                tags += [release["tag_name"] for release in releases if not release.get("draft")]
            if len(releases) < _PAGE:
                break
        return newest_first(tags)[::-1]

    async def _asset(self, version: str, name: str) -> bytes:
        asset = (await self._assets(version)).get(name)
        if asset is None:
            raise self._missing(version, name)
        answer = await self._api(
            f"releases/assets/{asset.number}", {"Accept": "application/octet-stream"}
        )
        content = answer.file()
        if asset.size != len(content) or asset.digest not in ("", digest_of(content)):
            raise ServerUnreached(
                f"{answer.url} is not what its release says: its size or digest is another; the "
                "release, or something in between, is broken"
            )
        return content

    async def _assets(self, version: str) -> dict[str, Asset]:
        """Return the assets of a release by name."""

        async def ask() -> dict[str, Asset]:
            try:
                answer = await self._api(f"releases/tags/{version}")
            except FileMissing:
                raise self._missing(version, "") from None
            with documented_errors(answer):
                return {
                    asset["name"]: Asset(asset["id"], asset["size"], asset.get("digest") or "")
                    for asset in answer.json()["assets"]
                }

        return await self.cache.once((self.place, "assets", version), ask)

    async def _api(self, path: str, headers: dict[str, str] | None = None) -> HttpResponse:
        url = f"{self.hosts.api}/repos/{self.repository}/{path}"
        result = {"Accept": "application/vnd.github+json", **(headers or {})}
        if self.token:
            result["Authorization"] = f"Bearer {self.token}"
        answer = await self.web.get(url, result)
        if answer.status == 404:
            raise FileMissing(f"{url} is not there{self._hint()}")
        if answer.status != 200:
            raise RepositoryError(_refusal(answer, with_token=bool(self.token)))
        return answer

    def _missing(self, version: str, name: str) -> FileMissing:
        what = f'has no file "{name}", or there is no such release' if name else "is not there"
        return FileMissing(
            f"release {version} of github.com/{self.repository} {what}; "
            f"{self.place}/releases lists the releases and their files{self._hint()}"
        )

    def _hint(self) -> str:
        if self.token:
            return " (it may be that the token in GITHUB_TOKEN has no right to read it)"
        return " (a private one needs a token in GITHUB_TOKEN)"


def github_at(path: str, config: Config) -> GitHubSource:
    """Return the repository at the path of a URL. Raises RepositoryError."""
    from kapy.clusterctl.config import GITHUB_TOKEN

    parts = path.removeprefix("/").split("/")
    if len(parts) < 5 or parts[2] != "releases" or not all(parts):
        raise RepositoryError(_FORM)
    return GitHubSource(
        "/".join(parts[:2]),
        parts[3],
        "/".join(parts[4:]),
        WebClient(),
        config.cache,
        secret(config.variables, GITHUB_TOKEN),
        Hosts(proxies=tuple(proxies(config.environ.get("GOPROXY", "")))),
    )


def _refusal(answer: HttpResponse, *, with_token: bool) -> str:
    result = refusal(answer)
    if answer.status in (403, 429) and answer.headers.get("x-ratelimit-remaining") == "0":
        return _rate_limit_message(answer, with_token=with_token)
    if answer.status == 401:
        return f"GitHub refuses the token in GITHUB_TOKEN ({result}): make a new one, or unset it"
    if answer.status == 403 and with_token:
        return (
            f"the token in GITHUB_TOKEN has no right to read {answer.url} ({result}): give it the "
            "right to read the repository's contents, or unset it"
        )
    return f"{answer.url} answered {result}; try again later, or set a token in GITHUB_TOKEN"


def _rate_limit_message(answer: HttpResponse, *, with_token: bool) -> str:
    until = ""
    with suppress(KeyError, ValueError, OverflowError, OSError):
        ends = datetime.fromtimestamp(int(answer.headers["x-ratelimit-reset"]), UTC)
        until = f" (it ends at {ends:%H:%M} UTC)"
    if with_token:
        return (
            f"rate limit for github api has been reached by the token in GITHUB_TOKEN{until}. "
            "Please wait, or take another token"
        )
    return (
        f"rate limit for github api has been reached{until}. Please wait one hour or get a "
        "personal API token and assign it to the GITHUB_TOKEN environment variable"
    )


def proxies(goproxy: str) -> list[str]:
    """Return the proxies in GOPROXY; none if it begins with `off` or `direct`."""
    result: list[str] = []
    for part in re.split(r"[,|]", goproxy or DEFAULT_PROXY):
        text = part.strip()
        if text in ("off", "direct"):
            break
        url = text if ":/" in text else f"https://{text}"
        if text and url.startswith(("http://", "https://")):
            result.append(url.rstrip("/"))
    return result


async def module_versions(web: WebClient, proxy: str, module: str) -> list[str]:
    """Tags of all versions of a module, of every major version. Raises ServerUnreached."""
    versions: set[Version] = set()
    for major in pages(proxy):
        names = await _listed_versions(web, proxy, module, major)
        if names is None:
            break
        versions.update(names)
    if not versions:
        raise ServerUnreached(f"{proxy} knows no version of {module}")
    return [f"v{version}" for version in sorted(versions)]


async def _listed_versions(
    web: WebClient, proxy: str, module: str, major: int
) -> list[Version] | None:
    """Return the versions of a major version; None if there is no such module."""
    path = module if major == 1 else f"{module}/v{major}"
    answer = await web.get(f"{proxy}/{_escaped_module(path)}/@v/list")
    if answer.status in _MISSING_STATUSES:
        return None
    if answer.status != 200:
        raise ServerUnreached(f"{answer.url} answered {answer.status}")
    versions = (
        _version_of_line(line) for line in answer.file().decode("utf-8", "replace").splitlines()
    )
    return [version for version in versions if version is not None]


def _version_of_line(line: str) -> Version | None:
    try:
        # Go marks modules without a go.mod (`+incompatible`); the tag does not contain that.
        return parse_tolerant(line.strip().removesuffix("+incompatible"))
    except InvalidVersion:
        return None


def _escaped_module(path: str) -> str:
    return re.sub("[A-Z]", lambda capital: f"!{capital[0].lower()}", path)
