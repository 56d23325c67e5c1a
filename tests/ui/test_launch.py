"""The browser is opened without the secret of the link in a command line."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest

from kapy.cli import ui

LINK = "https://127.0.0.1:6443/ui/login?token=s3cret&a=b"


def test_the_link_is_in_a_private_file_and_not_in_an_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launched: list[str] = []
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(click, "launch", launched.append)
    ui._open(LINK, no_browser=False)
    (url,) = launched
    file = Path(urlsplit(url).path)
    assert "s3cret" not in url
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f'url={LINK.replace("&", "&amp;")}"' in file.read_text()
    assert LINK in capsys.readouterr().out


def test_without_a_place_for_the_file_the_link_is_printed_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(click, "launch", lambda _: pytest.fail("nothing is to be opened"))
    ui._open(LINK, no_browser=False)
    assert "no browser is opened" in capsys.readouterr().err
