"""The repository holds sources and recordings, never downloaded packages or programs."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The first bytes of archives and programs, and what such a file is.
FOREIGN = {
    b"PK\x03\x04": "a zip archive or a wheel",
    b"\x7fELF": "a Linux program",
    b"MZ": "a Windows program",
    b"\xcf\xfa\xed\xfe": "a macOS program",
    b"\x00asm": "a WebAssembly module",
    b"!<arch>\n": "a Debian package or a static library",
    b"\x1f\x8b": "a gzip archive",
    b"\xfd7zXZ": "an xz archive",
    b"BZh": "a bzip2 archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
}

#: Recorded input and output of tests are compressed text.
RECORDINGS = (".jsonl.gz", ".json.gz", ".yaml.gz")


def foreign_kind(path: str, start: bytes) -> str | None:
    """The kind of a file that does not belong in the repository, None for one that does."""
    if path.startswith("tests/data/") and path.endswith(RECORDINGS):
        return None
    return next((kind for magic, kind in FOREIGN.items() if start.startswith(magic)), None)


def test_no_tracked_file_is_a_package_or_a_program() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [path for path in listed.stdout.split("\0") if (ROOT / path).is_file()]
    assert len(paths) > 1000
    kinds = {}
    for path in paths:
        with (ROOT / path).open("rb") as file:
            kind = foreign_kind(path, file.read(8))
        if kind:
            kinds[path] = kind
    assert kinds == {}


@pytest.mark.parametrize(
    ("path", "start", "kind"),
    [
        ("rope-1.15.2-py3-none-any.whl", b"PK\x03\x04\x14\x00", "a zip archive or a wheel"),
        ("bin/kubectl", b"\x7fELF\x02\x01", "a Linux program"),
        ("docs/source.tar.gz", b"\x1f\x8b\x08\x00", "a gzip archive"),
        ("tests/data/hooks/openapi.json.gz", b"\x1f\x8b\x08\x00", None),
        ("src/kapy/__init__.py", b'"""kapy', None),
    ],
)
def test_a_foreign_file_is_known_by_its_first_bytes(
    path: str, start: bytes, kind: str | None
) -> None:
    assert foreign_kind(path, start) == kind
