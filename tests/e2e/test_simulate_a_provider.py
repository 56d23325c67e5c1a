"""The walk of docs/concepts/simulation.md is followed literally: a planted bug is found."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.shell import Shell
from tests.e2e.test_documents import ROOT, blocks

DOCUMENT = "docs/concepts/simulation.md"
PATIENCE = 900.0
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = re.compile(r"-[a-z0-9]{5}\b|\d+\.\d{3} s|step \d+|\b[wrek]\d+\b")
"""Names, times and numbers of points, which change with kapy."""


def without_names(text: str) -> str:
    return " ".join(VARYING.sub("*", text).split())


@pytest.mark.slow
def test_a_provider_author_finds_the_planted_bug(tmp_path: Path) -> None:
    commands = "\n".join(blocks(DOCUMENT))
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        env=Shell(tmp_path).environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    said = without_names(done.stdout)
    shown = OUTPUT.findall((ROOT / DOCUMENT).read_text(encoding="utf-8"))
    assert len(shown) == 2
    for text in shown:
        assert without_names(text) in said
    assert "0 broken" in said
