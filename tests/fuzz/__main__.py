"""`python -m tests.fuzz NAME... --seconds N`: search, one process after the other.

Findings stay in the folder; `--keep` writes what a search reached into the kept corpus.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", help="harnesses; without any, they are listed")
    parser.add_argument("--seconds", type=int, default=60, help="of CPU, for each search")
    parser.add_argument(
        "--folder", type=Path, default=Path(gettempdir()) / "kapy-fuzz", help="of findings"
    )
    parser.add_argument("--keep", action="store_true", help="write the kept corpus instead")
    parser.add_argument("--here", action="store_true", help="search in this process")
    request = parser.parse_args()
    request.folder.mkdir(parents=True, exist_ok=True)
    if request.here:
        from tests.fuzz.searching import search

        search(request.names[0], request.seconds, request.folder)
        return
    names = request.names or _listed()
    for name in names if request.names else ():
        if request.keep:
            from tests.fuzz.minimising import minimise

            sys.stdout.write(f"{name}: {minimise(name, request.folder)} inputs\n")
        else:
            _search_apart(name, request.seconds, request.folder)


def _listed() -> list[str]:
    from tests.fuzz.every import HARNESSES

    sys.stdout.write("\n".join([*HARNESSES, ""]))
    return list(HARNESSES)


def _search_apart(name: str, seconds: int, folder: Path) -> None:
    """In a process of its own: libFuzzer ends the process that it searches in."""
    messages = ["--seconds", str(seconds), "--folder", str(folder), "--here"]
    with (folder / f"{name}.log").open("wb") as log:
        command = [sys.executable, "-m", "tests.fuzz", name, *messages]
        ended = subprocess.run(command, stdout=log, stderr=log, check=False)
    sys.stdout.write(f"{name}: ended with {ended.returncode}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
