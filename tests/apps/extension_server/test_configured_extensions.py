"""Extensions that a plane is told of when it starts."""

from __future__ import annotations

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.extension_config import ExtensionConfig
from kapy.apps.all_in_one import management_plane
from kapy.apps.extension_server.configured_extensions import (
    BadExtension,
    ConfiguredExtension,
    delete_registrations_except,
    parse_extension,
    register,
    url_manifest,
)
from kapy.cli.root import run
from kapy.kube import Key
from tests.hooks.extension import Network, config
from tests.stories.test_extensions import OPEN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("freeze", ("freeze", "freeze")),
        ("herd.change_freeze:mine", ("change-freeze", "herd.change_freeze:mine")),
        ("gate=freeze:mine", ("gate", "freeze:mine")),
        ("https://quota.rules.svc:443", ("quota-rules-svc-443", "https://quota.rules.svc:443")),
        ("gate=https://[::1]:9443/a?b=c", ("gate", "https://[::1]:9443/a?b=c")),
        ("https://quota/?a=b", ("quota", "https://quota/?a=b")),
    ],
)
def test_an_extension_has_a_name_and_a_target(text: str, expected: tuple[str, str]) -> None:
    extension = parse_extension(text)
    assert (extension.name, extension.target) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("http://quota", "extensions have https:// URLs"),
        ("https://", "extensions have https:// URLs"),
        ("./quota.py", "neither an https:// URL nor a Python module"),
        ("", "neither an https:// URL nor a Python module"),
        ("Gate=quota", '"Gate" cannot be the name'),
    ],
)
def test_an_invalid_extension_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadExtension, match=sentence):
        parse_extension(text)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--extension", "a", "--extension", "b.a"], "a is the name of two extensions"),
        (
            ["--extension", "a", "--feature-gates", "RuntimeSDK=false"],
            "RuntimeSDK, which is closed",
        ),
        (["--extension", "ftp://a"], "extensions have https:// URLs"),
    ],
)
def test_kapy_up_refuses_conflicting_extensions(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(["up", *arguments]) != 0
    assert sentence in capsys.readouterr().err


async def test_registrations_of_removed_extensions_are_deleted() -> None:
    async with management_plane(OPEN, clock=loop_clock(), post=Network()) as plane:
        for name in ("old", "new"):
            await register(plane.client, url_manifest(ConfiguredExtension(name, f"https://{name}")))
        await plane.client.create(ExtensionConfig.RESOURCE, config("mine"))
        await delete_registrations_except(plane.client, ["new"])
        await register(
            plane.client, url_manifest(ConfiguredExtension("new", "https://newer", b"PEM"))
        )
        listed = (await plane.client.list(ExtensionConfig)).items
        assert sorted(item.metadata.name for item in listed) == ["mine", "new"]
        extension_config = await plane.client.get(ExtensionConfig, Key("", "new"))
        assert extension_config.spec.client_config.url == "https://newer"
