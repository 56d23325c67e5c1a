"""Steps of boot data carried out below a folder, as a provider would do it in a machine."""

from __future__ import annotations

import base64
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kapy.kube.boot import RunCommand, Step, as_command, as_commands, read_boot_data
from tests.kube.boot.cloud_init_cases import FOLDERS, HOSTNAME, Case

_CHOWN: Final = '#!/bin/sh\nshift\nprintf "%s %s\\n" "$1" "$2" >> "$OWNERS"\n'
"""Only root may give files away: the test looks at what was asked for."""

_PLACES: Final = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, FOLDERS))})(?![\w-])")


def carried_out(case: Case, folder: Path, *, together: bool) -> tuple[dict[str, Any], str]:
    """The files that are there afterwards, as the record has them, and the entry that failed.

    together: whether files that follow each other are written by one command.
    """
    root, tools, owners = folder / "root", folder / "tools", folder / "owners"
    for path in (root / "usr/local/bin", tools):
        path.mkdir(parents=True)
    (tools / "chown").write_text(_CHOWN)
    (tools / "chown").chmod(0o755)
    owners.touch()
    paths = os.pathsep.join((str(tools), str(root / "usr/local/bin"), os.environ["PATH"]))
    environment = {"PATH": paths, "OWNERS": str(owners)}
    instance = {"local_hostname": HOSTNAME, "instance_id": f"i-{case.name}"}
    plan = read_boot_data(case.data.encode(), "cloud-config", instance=instance)
    steps = [_below(step, root) for step in plan.steps]
    for command in as_commands(steps) if together else map(as_command, steps):
        done = subprocess.run(
            command.argv,
            input=command.stdin,
            check=False,
            env=environment,
            umask=0o022,
            capture_output=True,
        )
        if done.returncode:
            return _files(root, owners), command.entry
    return _files(root, owners), ""


def _below(step: Step, root: Path) -> Step:
    if isinstance(step, RunCommand):
        return replace(step, argv=tuple(_moved(word, root) for word in step.argv))
    try:
        content = _moved(step.content.decode(), root).encode()
    except UnicodeDecodeError:
        content = step.content
    return replace(step, path=f"{root}{step.path}", content=content)


def _moved(text: str, root: Path) -> str:
    return _PLACES.sub(lambda match: f"{root}{match[0]}", text)


def _files(root: Path, owners: Path) -> dict[str, Any]:
    owner_of = dict(line.split(" ", 1)[::-1] for line in owners.read_text().splitlines())
    return {
        str(path).removeprefix(str(root)): {
            "content": _content(path, root),
            "mode": f"{path.stat().st_mode & 0o7777:04o}",
            "owner": _owner(owner_of.get(str(path), "")),
        }
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _content(path: Path, root: Path) -> Any:
    data = path.read_bytes()
    try:
        return data.decode().replace(str(root), "")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _owner(request: str) -> str:
    user, colon, group = request.partition(":")
    if colon and not group:
        group = user  # as chown understands it, for users whose group has their name
    return f"{user or 'root'}:{group or 'root'}"
