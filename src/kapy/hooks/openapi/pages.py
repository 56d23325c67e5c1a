"""Print the reference of all hooks: `python -m kapy.hooks.openapi.pages FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.inspect import Field, Metadata, StructType, type_info

from kapy import CLUSTER_API
from kapy.hooks.catalog import Catalog, own_catalog
from kapy.hooks.hook import AnyHook
from kapy.hooks.openapi.document import openapi
from kapy.kube.yaml import dump

PAGE: Final = "hooks.md"
DOCUMENT: Final = "runtime-sdk-openapi.yaml"
_HEAD: Final = """\
# Hooks

Printed from the hooks themselves (`make reference`); the whole of it for machines is in
[runtime-sdk-openapi.yaml](runtime-sdk-openapi.yaml), which `kapy hooks openapi` prints too. How to
answer them is in [Write an extension](../how-to/write-an-extension.md), how they are called in
[Runtime extensions](runtime-extensions.md).

A request has `settings` beside its own fields: those of the ExtensionConfig. A response has a
`status`, Success or Failure, and a `message`; one that may hold something has `retryAfterSeconds`.
"""


def pages(catalog: Catalog) -> dict[str, str]:
    """Return both pages by name."""
    return {PAGE: _page(catalog), DOCUMENT: dump(openapi(catalog, CLUSTER_API))}


def _page(catalog: Catalog) -> str:
    return "\n".join([_HEAD, *(line for hook in catalog for line in _section(hook))])


def _section(hook: AnyHook) -> Iterator[str]:
    yield f"## {hook.name} ({hook.version})\n"
    yield f"{hook.summary}. {hook.description}\n"
    path = hook.path() if hook.singleton else hook.path("{name}")
    holds = ", may hold what comes next" if hook.is_blocking else ""
    yield f"`POST {path}`{holds}\n"
    rows = [
        f"| {part} | `{field.encode_name}` | {_words(field)} |"
        for part, kind in (("request", hook.request), ("response", hook.response))
        for field in _fields(kind)
    ]
    if rows:
        yield "| in | field | is |\n|---|---|---|"
        yield "\n".join(rows) + "\n"


_EVERYWHERE: Final = frozenset(
    ("kind", "apiVersion", "settings", "status", "message", "retryAfterSeconds")
)


def _fields(kind: type) -> list[Field]:
    info = type_info(kind)
    assert isinstance(info, StructType)
    return [field for field in info.fields if field.encode_name not in _EVERYWHERE]


def _words(field: Field) -> str:
    rules = (field.type.extra_json_schema or {}) if isinstance(field.type, Metadata) else {}
    return str(rules.get("description", ""))


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, text in pages(own_catalog()).items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
