"""JSON from outside is decoded in one place, with one exception."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kapy
from kapy.kube.foreign_json import BadJson, TooDeep, decode_json

SOURCES: Final = Path(kapy.__file__).parent
_OWN_FILES: Final = {
    "api/print_cache.py": "a file of the package",
    "apiserver/encoding/protobuf.py": "a file of the package",
    "apiserver/resources/structs.py": "a file of the package",
    "apiserver/verbs/tables.py": "a file of the package",
    "hooks/evolution.py": "a file of the repository",
    "apps/sound_schemas.py": "a file of the package",
    "apps/pidfile.py": "written by this program, in its own folder",
    "apiserver/store/copies.py": "written by the store",
    "apiserver/store/schema.py": "written by the store",
    "apiserver/store/stored_object.py": "written by the store",
    "apiserver/store/table.py": "written by the store",
    "apiserver/audit/auditor.py": "an item of an own answer",
    "api/validation/cluster_class_variables.py": "encoded a line before",
    "topology/patches/inline.py": "encoded a line before",
    "apps/api_processes/configuration.py": "written by a process of this program",
    "apps/extension_server/process.py": "written by a process of this program",
    "apps/extension_server/served_process.py": "written by a process of this program",
    "apps/workers/channel.py": "written by a process of this program",
    "apps/workers/clusters.py": "written by a process of this program",
    "apps/workers/configuration.py": "written by a process of this program",
    "apps/workers/hooks.py": "written by a process of this program",
    "apps/workers/metrics.py": "written by a process of this program",
    "kube/packed_json.py": "written by this process",
    "kube/apply/fields.py": "keys that were checked when they came",
    "providers/inmemory/workload/etcd.py": "asked by this program",
}
_ITS_OWN_WAY: Final = {
    "kube/foreign_json.py": "here it is",
    "apiserver/request/body.py": "as lenient as Go; catches RecursionError",
    "apiserver/resources/builtin/config_data.py": "Go's sentences; catches RecursionError",
    "api/conversion/wire.py": "into a type; its caller catches ValueError and RecursionError",
    "apps/restore.py": "into a type, after decoded()",
    "client/expiry.py": "into a type; catches RecursionError",
    "clusterctl/config/file.py": "numbers of any size; catches RecursionError",
    "clusterctl/move/journal.py": "into a type; catches RecursionError",
    "engine/shards.py": "into a type; catches RecursionError",
    "hooks/hook.py": "into a type; catches RecursionError",
    "sdk/admission_versions.py": "into a type; catches RecursionError",
    "sdk/reviews.py": "into a type; catches RecursionError",
}
_NAMES: Final = frozenset(("msgspec.json.decode", "json.loads", "json.load", "JSONDecoder"))
# A file without such a word is not parsed, which takes most of the time.
_WORD: Final = re.compile(rb"\b(?:decode|loads?|Decoder|JSONDecoder)\b")


def _decoding(path: Path) -> Iterator[int]:
    """The lines on which a module decodes JSON by itself."""
    text = path.read_bytes()
    if b"json" not in text or not _WORD.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and _WORD.fullmatch(node.attr.encode()):
            name = ast.unparse(node)
            if name in _NAMES or name.endswith("json.Decoder"):
                yield node.lineno
        elif isinstance(node, ast.Name) and node.id in _NAMES:
            yield node.lineno


def test_foreign_json_is_decoded_in_one_module_only() -> None:
    results = {
        name: lines
        for path in SOURCES.rglob("*.py")
        if (name := path.relative_to(SOURCES).as_posix()).partition("/")[0] != "testing"
        if (lines := list(_decoding(path)))
    }
    files = {*_OWN_FILES, *_ITS_OWN_WAY}
    assert set(results) - files == set(), "use kapy.kube.foreign_json, or say why not here"
    assert files - set(results) == set(), "these do so no more"


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b'"\xff"', b"NaN", b"1e999", b"9" * 5000, b"[" * 100_000, '{"a":"\ud83d"}', "x"],
)
def test_invalid_json_raises_one_exception(text: bytes | str) -> None:
    with pytest.raises(BadJson):
        decode_json(text)


@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_depth_is_bounded_before_recursion_is(pair: tuple[str, str]) -> None:
    levels = 301 // pair[0].count("[" if pair[0][0] == "[" else "{") // len(pair[1]) + 1
    text = pair[0] * levels + "1" + pair[1] * levels
    with pytest.raises(TooDeep):
        decode_json(text)
    decode_json(pair[0] * 100 + "1" + pair[1] * 100)
