"""GitLab generic packages as a source, on gitlab.com and on self-hosted servers.

The version of a package is part of the URL. Other versions can be read but not listed, so an
upgrade needs an explicit version. Upstream:
`cmd/clusterctl/client/repository/repository_gitlab.go`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, quote

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.repository.releases import semantic
from kapy.clusterctl.repository.web import (
    HttpResponse,
    WebClient,
    documented_errors,
    pages,
    refusal,
    secret,
)

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config

_READ_ERROR: Final = "error creating the GitLab repository client"
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class GitLabSource:
    """One generic package, as a `Source`. project: base URL of the project in GitLab's API."""

    project: str
    package: str
    default: str
    components_file: str
    web: WebClient
    token: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        return f"{self.project}/packages/generic/{self.package}"

    async def versions(self) -> list[str]:
        return [self.default]

    async def file(self, version: str, name: str) -> bytes:
        url = f"{self.place}/{version}/{name}"
        cannot = f'failed to get file "{name}" with version "{version}" from "{url}"'
        answer = await self._request(url)
        if answer.status == 404:
            raise FileMissing(f"{cannot}, got 404: {self._not_found}")
        if answer.status != 200:
            raise RepositoryError(f"{cannot}: {self._refusal(answer)}")
        return answer.file()

    async def files(self, version: str) -> list[str]:
        query = f"package_name={quote(self.package)}&package_version={quote(version)}"
        result = await self._list(f"{self.project}/packages?package_type=generic&{query}", "id")
        ours = [item["id"] for item in result if item.get("version") == version]
        if not ours:
            raise FileMissing(f"{self.place} has no version {version}: {self._not_found}")
        place = f"{self.project}/packages/{ours[0]}/package_files"
        return sorted(
            {str(item["file_name"]) for item in await self._list(f"{place}?", "file_name")}
        )

    async def _list(self, url: str, subject: str) -> list[Any]:
        """Return all pages of a list whose items are maps with a `subject` key."""
        result: list[Any] = []
        page = "1"
        for _ in pages(self.place):
            answer = await self._request(f"{url}&per_page={_PAGE}&page={page}")
            if answer.status != 200:
                raise RepositoryError(f"failed to list {url}: {self._refusal(answer)}")
            with documented_errors(answer):
                result += [item for item in answer.json() if item[subject]]
            page = answer.headers.get("x-next-page", "")
            if not page:
                break
        return result

    async def _request(self, url: str) -> HttpResponse:
        return await self.web.get(
            url, {"Authorization": f"Bearer {self.token}"} if (self.token) else {}
        )

    @property
    def _not_found(self) -> str:
        if self.token:
            return "it is not there, or the token in GITLAB_ACCESS_TOKEN may not read it"
        return "it is not there, or needs a token in GITLAB_ACCESS_TOKEN"

    def _refusal(self, answer: HttpResponse) -> str:
        result = refusal(answer)
        if answer.status == 401:
            return (
                f"unauthorized access, please check your credentials ({result}): "
                "GITLAB_ACCESS_TOKEN must be a personal or project access token"
            )
        if answer.status == 403:
            return f"the token in GITLAB_ACCESS_TOKEN has no right to read packages ({result})"
        if answer.status == 429:
            return f"GitLab's rate limit is reached ({result}); try again in a minute"
        return f"got {result}"


def gitlab_at(parts: SplitResult, config: Config) -> GitLabSource:
    """Return the package at a URL. Raises RepositoryError."""
    from kapy.clusterctl.config import GITLAB_TOKEN

    path = parts.path.removeprefix("/").split("/")
    if len(path) != 9 or path[:3] != ["api", "v4", "projects"] or path[4:6] != [
        "packages", "generic",
    ]:  # fmt: skip
        raise RepositoryError(
            f"{_READ_ERROR}: invalid url: a GitLab repository url should be in the form "
            "https://{host}/api/v4/projects/{projectSlug}/packages/generic/{packageName}/"
            "{defaultVersion}/{componentsPath}"
        )
    if semantic(path[7]) is None:
        raise RepositoryError(
            f'{_READ_ERROR}: invalid version: "{path[7]}": versions of GitLab packages cannot be '
            "listed, so the url must name one, as v1.2.3"
        )
    project = f"{parts.scheme}://{parts.netloc}/{'/'.join(path[:4])}"
    token = secret(config.variables, GITLAB_TOKEN)
    return GitLabSource(project, path[6], path[7], path[8], WebClient(), token)
