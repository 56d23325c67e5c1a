"""Requests that a real kube-apiserver answered, asked of ours over TLS.

The recording's own tool does it (`replay.py` of the folder, or of the shared data where the folder
has only cases): its semantics are the definition of "equal".
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.oracle.recorded import data
from tests.oracle.served import TOKENS, served
from tests.oracle.topic import Result

FULL = data("oracle/apiserver")

LONGEST = 1800.0
"""Seconds after which a replay is given up: some cases wait half a minute for what never comes."""


class CannotReplay(Exception):
    """The replay tool did not run; the message is what it said."""


def replay(folder: Path, topics: Sequence[str] = ()) -> dict[str, list[Result]]:
    """The results of each sub-topic (the name of a file of cases), all or only those asked for.

    Cases that need a webhook server are played where there is the `openssl` command, which makes
    its certificate. Raises CannotReplay.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        with served() as (url, ca):
            command = [
                *(sys.executable, str(_beside(folder, "replay.py"))),
                *("--server", url, "--ca", ca, "--token", TOKENS["admin"]),
                *("--as-token", f"alice={TOKENS['alice']}", "--jobs", "8"),
                *("--cases", str(_cases(folder)), "--crds", str(_beside(folder, "crds"))),
                *("--report", str(report)),
                *(part for topic in topics for part in ("--topic", topic)),
                *_webhooks(topics),
            ]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=LONGEST
            )
        if not report.exists():
            raise CannotReplay((done.stderr or done.stdout).strip())
        return dict(_results(json.loads(report.read_text())))


def _webhooks(topics: Sequence[str]) -> list[str]:
    """Return the option that starts a webhook server, if a topic may need one."""
    if topics and "webhooks" not in topics:
        return []
    if shutil.which("openssl") is None:
        sys.stderr.write("no openssl command here: the cases of webhooks are not played\n")
        return []
    return ["--with-webhooks"]


def _results(report: dict[str, dict[str, list[str] | None]]) -> Iterator[tuple[str, list[Result]]]:
    for topic, cases in sorted(report.items()):
        played = ((case, lines) for case, lines in sorted(cases.items()) if lines is not None)
        results = [Result(case, tuple(lines)) for case, lines in played]
        if results:
            yield topic, results


def _cases(folder: Path) -> Path:
    return folder / "cases" if (folder / "cases").is_dir() else folder


def _beside(folder: Path, name: str) -> Path:
    """A file or folder of the recording: the folder's own, or the shared data's."""
    for place in (folder, folder.parent, FULL):
        if (place / name).exists():
            return place / name
    raise CannotReplay(f"{folder} has no {name}, and neither has {FULL}")
