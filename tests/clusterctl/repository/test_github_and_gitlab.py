"""GitHub and GitLab over real sockets: what is asked for, how often, and what is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from kapy.clusterctl.config import load
from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.github import GitHubSource, Hosts, github_at, proxies
from kapy.clusterctl.repository.gitlab import GitLabSource
from kapy.clusterctl.repository.remote import CachedRepository
from kapy.clusterctl.repository.web import WebClient
from tests.clusterctl.repository.servers import (
    Answer,
    Server,
    broken_off,
    github,
    gitlab,
    go_proxy,
    saying,
    serving,
    status,
)
from tests.clusterctl.repository.test_folders import METADATA

RELEASES = {
    f"v1.{minor}.0": {"metadata.yaml": METADATA, "c.yaml": b"kind: Herd"} for minor in (1, 2, 0)
} | {"v1.2.1": {}, "nightly": {"c.yaml": b"kind: Cow"}}
MODULE = "github.com/herd/capybara"
LIST = {1: "v1.0.0\nv1.2.1\nv1.1.0\nv1.2.0\nnot-a-version\n", 2: "v2.0.0-rc.1+incompatible\n"}

pytestmark = pytest.mark.sockets


def at_github(
    server: Server, *goproxies: Server | str, cache: Cache | None = None, token: str = ""
) -> CachedRepository:
    """The repository at a server. Without Go proxies, as GOPROXY=off."""
    names = tuple(goproxy if isinstance(goproxy, str) else goproxy.url for goproxy in goproxies)
    cache = cache or Cache(None)
    hosts = Hosts(server.url, server.url, names)
    again = WebClient((0, 0, 0))
    source = GitHubSource("herd/capybara", "latest", "c.yaml", again, cache, token, hosts)
    return CachedRepository(source, cache)


async def test_with_a_go_proxy_github_s_api_is_not_asked() -> None:
    async with serving(github(RELEASES)) as server, serving(go_proxy(MODULE, LIST)) as goproxy:
        repository = at_github(server, goproxy)
        assert await repository.versions() == [
            "v1.0.0", "v1.1.0", "v1.2.0", "v1.2.1", "v2.0.0-rc.1",
        ]  # fmt: skip
        assert await repository.default_version() == "v1.2.0"
        assert await repository.file("v1.2.0", "c.yaml") == b"kind: Herd"
    assert goproxy.asked == [f"GET /{MODULE}{major}/@v/list" for major in ("", "/v2", "/v3")]
    assert server.asked == [
        f"GET /herd/capybara/releases/download/{item}"
        for item in ("v1.2.1/metadata.yaml", "v1.2.0/metadata.yaml", "v1.2.0/c.yaml")
    ]


async def test_without_a_go_proxy_github_s_api_is_asked() -> None:
    async with serving(github(RELEASES)) as server:
        repository = at_github(server)
        assert await repository.default_version() == "v1.2.0"
        assert await repository.file("v1.2.0", "c.yaml") == b"kind: Herd"
        assert await repository.file("nightly", "c.yaml") == b"kind: Cow"
        assert await repository.files("v1.1.0") == ["c.yaml", "metadata.yaml"]
    assert not [text for text in server.asked if "/download/" in text]
    assert len(server.asked) == len(set(server.asked)), "nothing is asked for twice"


async def test_tags_that_are_no_versions_do_not_count() -> None:
    async with serving(github(RELEASES)) as server:
        assert await at_github(server).versions() == ["v1.0.0", "v1.1.0", "v1.2.0", "v1.2.1"]


async def test_a_private_repository_is_read_with_a_token() -> None:
    async with (
        serving(github(RELEASES, token="t")) as server,
        serving(go_proxy(MODULE, {})) as goproxy,
    ):
        repository = at_github(server, goproxy, token="t")
        assert await repository.default_version() == "v1.2.0"
        assert await repository.file("v1.2.0", "c.yaml") == b"kind: Herd"
        with pytest.raises(FileMissing, match="a private one needs a token in GITHUB_TOKEN"):
            await at_github(server, goproxy).file("v1.2.0", "c.yaml")
        with pytest.raises(RepositoryError, match="GitHub refuses the token in GITHUB_TOKEN"):
            await at_github(server, token="other").versions()


async def test_the_next_go_proxy_is_asked_where_one_does_not_answer() -> None:
    async with serving(go_proxy(MODULE, {1: "v1.1.0"})) as goproxy, serving(github({})) as server:
        repository = at_github(server, "http://127.0.0.1:1", goproxy)
        assert await repository.versions() == ["v1.1.0"]
    assert server.asked == []


@pytest.mark.parametrize(
    ("goproxy", "expected"),
    [
        ("", ["https://proxy.golang.org"]),
        ("off", []),
        ("direct", []),
        ("https://a.local/go/,direct", ["https://a.local/go"]),
        ("a.local|http://b.local , off, https://c.local", ["https://a.local", "http://b.local"]),
        ("file:///srv/go,https://a.local", ["https://a.local"]),
    ],
)
def test_goproxy_is_read_as_go_reads_it(goproxy: str, expected: list[str]) -> None:
    assert proxies(goproxy) == expected


async def test_a_go_proxy_is_asked_for_capitals_as_go_asks() -> None:
    async with serving(go_proxy("github.com/!open!nebula/capi", {1: "v1.0.0"})) as goproxy:
        hosts = Hosts(proxies=(goproxy.url,))
        source = GitHubSource(
            "OpenNebula/capi", "latest", "c", WebClient(()), Cache(None), "", hosts
        )
        assert await source.versions() == ["v1.0.0"]


async def test_all_pages_of_releases_are_read() -> None:
    async with serving(github({f"v1.0.{patch}": {} for patch in range(150)})) as server:
        assert len(await at_github(server).versions()) == 150
    assert len(server.asked) == 2


@pytest.mark.parametrize("fault", [broken_off, status(500), status(502), status(503), status(504)])
async def test_temporary_failures_are_retried(fault: Answer) -> None:
    async with serving(github(RELEASES)) as server:
        server.fail("/releases/tags/", fault, 3)
        assert await at_github(server).file("v1.1.0", "c.yaml") == b"kind: Herd"
    assert len(server.asked) == 5


@pytest.mark.parametrize(
    ("path", "fault", "said"),
    [
        (
            "/releases",
            status(403, "rate", X_RateLimit_Remaining="0", X_RateLimit_Reset="1800000000"),
            r"rate limit for github api has been reached \(it ends at 08:00 UTC\)\. Please wait "
            "one hour or get a personal API token and assign it to the GITHUB_TOKEN",
        ),
        ("/releases", status(403, "secondary"), "answered 403: secondary; try again later"),
        ("/releases", status(429, "slow"), "answered 429: slow; try again later"),
        ("/releases", saying(b"<html>", "text/html"), "is not JSON .* a login page in between"),
        ("/releases", saying(b'{"a": 1}', "application/json"), "JSON that is not what such"),
        ("/releases", saying(b'[{"a": 1}]', "application/json"), "JSON that is not what such"),
        ("/releases", broken_off, "the connection broke off in the middle of the answer"),
        ("/tags/", saying(b'{"assets": 1}', "application/json"), "JSON that is not what such"),
        ("/assets/", saying(b"kind: Wolf", "application/yaml"), "its size or digest is another"),
        ("/assets/", saying(b"<html>", "text/html"), "a web page and not with the file"),
        ("/assets/", broken_off, "the connection broke off"),
    ],
)
async def test_a_server_that_refuses_or_lies_is_reported_in_a_sentence(
    path: str, fault: Answer, said: str
) -> None:
    async with serving(github(RELEASES)) as server:
        server.fail(path, fault, 4)
        with pytest.raises(RepositoryError, match=said):
            await at_github(server).default_version()


async def test_a_server_that_cannot_be_reached_is_reported() -> None:
    async with serving(github({})) as server:
        pass
    with pytest.raises(RepositoryError, match=r"cannot reach 127.*; check the network and the"):
        await at_github(server, server).file("v1.0.0", "c.yaml")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            status(403, "Resource not accessible"),
            r"the token in GITHUB_TOKEN has no right to read .*\(403: Resource not accessible\)",
        ),
        (
            status(403, "rate", X_RateLimit_Remaining="0"),
            "reached by the token in GITHUB_TOKEN. Please wait, or take another token",
        ),
        (status(404), "it may be that the token in GITHUB_TOKEN has no right to read it"),
    ],
)
async def test_a_token_without_rights_is_reported(fault: Answer, said: str) -> None:
    async with serving(github(RELEASES)) as server:
        server.fail("/releases", fault)
        with pytest.raises(RepositoryError, match=said):
            await at_github(server, token="secret").versions()
        server.fail("/releases", fault)
        with pytest.raises(RepositoryError) as error:
            await at_github(server, token="secret").versions()
    assert "secret" not in str(error.value)


async def test_an_asset_that_a_release_does_not_have_is_reported() -> None:
    async with serving(github(RELEASES)) as server, serving(go_proxy(MODULE, LIST)) as goproxy:
        for repository in (at_github(server), at_github(server, goproxy)):
            with pytest.raises(FileMissing, match=r'release v1\.2\.0 .* has no file "x\.yaml"'):
                await repository.file("v1.2.0", "x.yaml")
            with pytest.raises(FileMissing, match=r"/releases lists the releases"):
                await repository.file("v9.9.9", "c.yaml")


async def test_concurrent_requests_download_a_file_once(tmp_path: Path) -> None:
    async with serving(github(RELEASES)) as server, serving(go_proxy(MODULE, LIST)) as goproxy:
        cache = Cache(tmp_path)
        two = [at_github(server, goproxy, cache=cache) for _ in range(2)]
        files = [item.file("v1.1.0", "c.yaml") for item in two * 3]
        assert set(await asyncio.gather(*files)) == {b"kind: Herd"}
        for repository in two * 2:
            with pytest.raises(FileMissing):
                await repository.file("v1.1.0", "absent.yaml")
        assert len(server.asked) == 2
        another_day = at_github(server, goproxy, cache=Cache(tmp_path))
        assert await another_day.file("v1.1.0", "c.yaml") == b"kind: Herd"
        assert len(server.asked) == 2


@pytest.mark.parametrize("harm", ["truncated", "gone", "not a digest", "unreadable"])
async def test_a_damaged_cache_is_not_used(tmp_path: Path, harm: str) -> None:
    async with serving(github(RELEASES)) as server, serving(go_proxy(MODULE, LIST)) as goproxy:
        await at_github(server, goproxy, cache=Cache(tmp_path)).file("v1.1.0", "c.yaml")
        (blob,) = (tmp_path / "blobs" / "sha256").iterdir()
        (entry,) = (tmp_path / "files").iterdir()
        match harm:
            case "truncated":
                blob.write_bytes(b"kind")
            case "gone":
                blob.unlink()
            case "not a digest":
                entry.write_text("../../secret")
            case _:
                entry.write_bytes(b"\xff")
        repository = at_github(server, goproxy, cache=Cache(tmp_path))
        assert await repository.file("v1.1.0", "c.yaml") == b"kind: Herd"
        assert len(server.asked) == 2


async def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("a file where a folder should be")
    async with serving(github(RELEASES)) as server, serving(go_proxy(MODULE, LIST)) as goproxy:
        repository = at_github(server, goproxy, cache=Cache(tmp_path / "full"))
        assert await repository.file("v1.1.0", "c.yaml") == b"kind: Herd"


@pytest.mark.parametrize(
    ("environ", "token", "proxies"),
    [
        ({"GOPROXY": "off", "GITHUB_TOKEN": "t\n"}, "t", ()),
        ({}, "", ("https://proxy.golang.org",)),
    ],
)
def test_token_and_go_proxies_come_from_the_environment(
    environ: Mapping[str, str], token: str, proxies: tuple[str, ...]
) -> None:
    config = load(None, {"HOME": "/nowhere", **environ})
    source = github_at("/herd/capybara/releases/latest/c.yaml", config)
    assert "token" not in repr(source)
    assert (source.token, source.hosts.proxies) == (token, proxies)
    assert (source.place, source.default, source.components_file) == (
        "https://github.com/herd/capybara", "latest", "c.yaml",
    )  # fmt: skip


def at_gitlab(server: Server, token: str = "") -> CachedRepository:
    project = f"{server.url}/api/v4/projects/herd%2Fcapybara"
    return CachedRepository(
        GitLabSource(project, "capi", "v1.1.0", "c.yaml", WebClient((0,)), token), Cache(None)
    )


async def test_gitlab_s_packages_are_read_and_their_version_has_to_be_named() -> None:
    async with serving(gitlab(RELEASES, token="t")) as server:
        repository = at_gitlab(server, "t")
        assert await repository.default_version() == "v1.1.0"
        assert await repository.versions() == ["v1.1.0"]
        assert await repository.file("v1.2.0", "c.yaml") == b"kind: Herd"
        assert await repository.files("v1.2.0") == ["c.yaml", "metadata.yaml"]
    assert "GET /api/v4/projects/herd%2Fcapybara/packages/generic/capi/v1.2.0/c.yaml" in (
        server.asked
    )


@pytest.mark.parametrize(
    ("token", "fault", "said"),
    [
        ("", None, "got 404: it is not there, or needs a token in GITLAB_ACCESS_TOKEN"),
        ("wrong", None, "unauthorized access, please check your credentials"),
        ("t", status(403, "Forbidden"), "has no right to read packages .403: Forbidden"),
        ("t", status(429), "GitLab's rate limit is reached"),
        ("t", status(418), "got 418"),
        ("t", saying(b"<html>", "text/html"), "a web page and not with the file"),
        ("t", status(404), "or the token in GITLAB_ACCESS_TOKEN may not read it"),
    ],
)
async def test_refusals_of_gitlab_are_reported(token: str, fault: Answer | None, said: str) -> None:
    async with serving(gitlab(RELEASES, token="t")) as server:
        if fault is not None:
            server.fail("/c.yaml", fault)
        with pytest.raises(RepositoryError, match=said):
            await at_gitlab(server, token).file("v1.1.0", "c.yaml")


async def test_a_version_that_gitlab_does_not_have_is_reported() -> None:
    async with serving(gitlab(RELEASES)) as server:
        with pytest.raises(FileMissing, match=r"has no version v9\.0\.0"):
            await at_gitlab(server).files("v9.0.0")
        server.fail("/packages?", saying(b"[1]", "application/json"))
        with pytest.raises(RepositoryError, match="JSON that is not what such"):
            await at_gitlab(server).files("v1.1.0")
