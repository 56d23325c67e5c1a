"""The judge: a program of Cluster API's own functions, which answers cases.

The program is built inside a copy of the Go module of Cluster API, which Go downloads, in a cache
outside of the repository: most of the functions are internal to that module.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kapy.kube import Document
from tests.functions.functions import template_variables

RELEASE: Final = "v1.14.0"
MODULE: Final = "sigs.k8s.io/cluster-api"
SOURCES: Final = Path(__file__).parent / "judge"
CACHE: Final = Path(
    os.environ.get("KAPY_REAL_CLUSTERS_CACHE") or Path.home() / ".cache" / "kapy-real-clusters"
)
_PATCHES: Final = "core/reconcilers/topology/cluster/patches"
_RECONCILERS: Final = "core/reconcilers"
_EXPORTS: Final[Mapping[str, str]] = {
    "controlplane_admission.go": "controlplane/kubeadm/webhooks/admission",
    "core_admission.go": "core/webhooks/admission",
    "hooks.go": "internal/runtime/client",
    "inline.go": f"{_PATCHES}/inline",
    "machinedeployment.go": f"{_RECONCILERS}/machinedeployment",
    "machineset.go": f"{_RECONCILERS}/machineset",
    "patches.go": _PATCHES,
}
"""Files that export functions of a package, and the folder of the package."""


class NoJudge(Exception):
    """The program cannot be built; the message says why."""


def program() -> Path:
    """Return the path of the program, which is built if the cache lacks it. Raises NoJudge."""
    files = sorted(SOURCES.rglob("*.go"))
    marks = b"".join(file.read_bytes() for file in files) + RELEASE.encode()
    result = CACHE / f"judge-{hashlib.sha256(marks).hexdigest()[:12]}"
    if result.exists():
        return result
    CACHE.mkdir(parents=True, exist_ok=True)
    source = CACHE / f"judge-source-{os.getpid()}"
    shutil.rmtree(source, ignore_errors=True)
    try:
        # Files of the module cache are read-only, their copies must not be.
        shutil.copytree(_module(), source, copy_function=shutil.copyfile)
        _place(source)
        _go(source, "mod", "edit", f"-dropreplace={MODULE}/api")
        _go(source, "mod", "edit", f"-require={MODULE}/api@{RELEASE}")
        part = result.with_suffix(".part")
        _go(source, "build", "-ldflags", "-s -w", "-o", str(part), "./cmd/judge")
        part.rename(result)
    finally:
        shutil.rmtree(source, ignore_errors=True)
    return result


def _module() -> Path:
    """Return the folder of the module of Cluster API, which Go downloads."""
    empty = CACHE / "judge-download"
    empty.mkdir(exist_ok=True)
    (empty / "go.mod").write_text("module download\n")
    described = json.loads(_go(empty, "mod", "download", "-json", f"{MODULE}@{RELEASE}"))
    return Path(described["Dir"])


def _place(source: Path) -> None:
    for folder in (source, *(path for path in source.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    command = source / "cmd" / "judge"
    command.mkdir()
    for file in SOURCES.glob("*.go"):
        shutil.copyfile(file, command / file.name)
    for name, folder_name in _EXPORTS.items():
        shutil.copyfile(SOURCES / "exports" / name, source / folder_name / f"judge_{name}")


def _go(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
    try:
        done = subprocess.run(
            ["go", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise NoJudge("go is not installed; Cluster API's functions are built with it") from None
    if done.returncode:
        raise NoJudge(f"go {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def judge(
    name: str, cases: Iterable[Document], environment: Iterable[Document] = ()
) -> list[Document]:
    """Return the answers of a function of Cluster API. Raises NoJudge.

    environment: objects that exist for webhooks.
    """
    lines = [
        {"$variables": template_variables()},
        {"$": "webhooks/environment", "objects": list(environment)},
        *({"$": name, **case} for case in cases),
    ]
    done = subprocess.run(
        [program()],
        input="".join(f"{json.dumps(line)}\n" for line in lines).encode(),
        stdout=subprocess.PIPE,
        env={"TZ": "UTC"},
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()[2:]]
