"""`kapy ui`, before it asks a server."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kapy.cli.ui import has_display


@pytest.mark.parametrize(
    ("platform", "environ", "has"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": "", "SSH_TTY": "/dev/pts/0"}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "lynx"}, True),
        ("darwin", {}, True),
    ],
)
def test_a_browser_is_opened_where_there_is_a_display(
    platform: str, environ: Mapping[str, str], has: bool
) -> None:
    assert has_display(platform, environ) is has
