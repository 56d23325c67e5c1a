"""One spec: a plane, the program of upstream's specs, and what came out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real.specs import config, old_release, parts
from tests.real.specs.bed import Bed, bed
from tests.real.specs.catalogue import SPECS, Spec
from tests.real.specs.plane import NotReady, kapy
from tests.real.specs.releases import released

LIMIT: Final = "60m"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a spec. log: its output."""

    name: str
    passed: bool
    seconds: float
    log: Path


@contextmanager
def runner(folder: Path, names: Iterable[str]) -> Iterator[Callable[[str], Result]]:
    """Runs specs by name. folder: of everything that they write."""
    parts.build()
    folder.mkdir(parents=True, exist_ok=True)
    settings = {}
    for spec in {SPECS[name] for name in names}:
        where = folder / "settings" / _settings_of(spec)
        settings[_settings_of(spec)] = config.written(where, kapy(), spec)
        if spec.old:
            old_release.build(spec.old)
    with released(old_release.VERSIONS, old_release.file, folder) as environment:

        def run(name: str) -> Result:
            spec = SPECS[name]
            if (count := selected(spec.focus, folder, environment)) != 1:
                message = f"{spec.focus!r}, the pattern of {name}, selects {count} specs, not one"
                raise ValueError(message)
            path = settings[_settings_of(spec)]
            return _run(name, folder / name, path, environment)

        yield run


def _settings_of(spec: Spec) -> str:
    """The name of the configuration of a spec: others with the same needs share it."""
    return f"{spec.machines}{spec.old}{'-tests' * spec.conformance}"


def selected(focus: str, folder: Path, environment: dict[str, str]) -> int:
    """The number of upstream's specs that a pattern selects; none of them runs."""
    command = [
        *(str(parts.specs()), f"--ginkgo.focus={focus}", "--ginkgo.dry-run", "--ginkgo.no-color"),
        f"--e2e.artifacts-folder={folder / 'dry-run'}",
    ]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if (match := re.search(r"^Will run (\d+) of \d+ specs$", ended.stdout, re.MULTILINE)) is None:
        message = f"upstream's specs cannot be listed: {(ended.stdout + ended.stderr)[-2000:]}"
        raise ValueError(message)
    return int(match[1])


def _run(name: str, folder: Path, settings: Path, environment: dict[str, str]) -> Result:
    shutil.rmtree(folder, ignore_errors=True)
    log, begun = folder / "spec.log", time.monotonic()
    try:
        with bed(folder, SPECS[name]) as result:
            begun = time.monotonic()
            passed = _passes(name, result, log, settings, environment)
    except NotReady as error:
        log.write_text(f"the plane was not ready: {error}")
        passed = False
    return Result(name, passed, time.monotonic() - begun, log)


def _passes(name: str, value: Bed, log: Path, settings: Path, environment: dict[str, str]) -> bool:
    command = [
        *(str(parts.specs()), f"--ginkgo.focus={SPECS[name].focus}", "--ginkgo.v"),
        *("--ginkgo.no-color", f"--ginkgo.timeout={LIMIT}", "--test.timeout=0"),
        f"--e2e.config={settings}",
        f"--e2e.artifacts-folder={value.folder / 'artifacts'}",
        "--e2e.use-existing-cluster",
    ]
    messages = {
        **os.environ,
        **environment,
        "KUBECONFIG": str(value.kubeconfig),
        "CAPI_KUSTOMIZE_PATH": str(parts.kustomize()),
        "DOCKER_HOST": value.engine,
        "HOME": str(value.folder),
        parts.VARIABLE: str(parts.CACHE),
        **value.environment,
    }
    with log.open("wb") as result:
        ended = subprocess.run(
            command,
            cwd=parts.source() / "test" / "e2e",
            env=messages,
            stdout=result,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    return ended.returncode == 0 and " 1 Passed" in log.read_text(errors="replace")
