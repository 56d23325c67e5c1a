"""Reference pages of our kinds, printed from their Structs.

    pages()["machine.md"]

One page a kind: its names and versions, and a table of every field of the stored version; what an
older version calls differently is in a table of its own. Deterministic, so that a test can hold the
pages in `docs/reference/api` to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from kapy.api.crds import crds
from kapy.kube import Document

_DIRECTORY_HEAD: Final = """\
# The kinds

Every kind of Cluster API that kapy serves, with each of its fields. The pages are printed from the
Structs in `kapy.api` (`make reference`); `kubectl explain` says the same, and `kapy crds` prints
the definitions.

| kind | group | stored | served, too |
|---|---|---|---|
"""
_RANGES: Final = (
    ("minLength", "maxLength", "{} characters"),
    ("minimum", "maximum", "{}"),
    ("minItems", "maxItems", "{} items"),
    ("minProperties", "maxProperties", "{} members"),
)


def pages() -> dict[str, str]:
    """Return the text of every page by its file name, `README.md` included."""
    result = {"README.md": _DIRECTORY_HEAD}
    for crd in crds():
        kind = crd["spec"]["names"]["kind"]
        result[f"{kind.lower()}.md"] = _page(crd)
        result["README.md"] += _row(crd)
    return result


def _row(crd: Document) -> str:
    spec = crd["spec"]
    kind = spec["names"]["kind"]
    stored = next(version["name"] for version in spec["versions"] if version["storage"])
    others = ", ".join(
        f"`{version['name']}`" for version in spec["versions"] if not version["storage"]
    )
    return (
        f"| [{kind}]({kind.lower()}.md) | `{spec['group']}` | `{stored}` | {others or 'none'} |\n"
    )


def _page(crd: Document) -> str:
    spec = crd["spec"]
    names = spec["names"]
    stored = next(item for item in spec["versions"] if item["storage"])
    schema = stored["schema"]["openAPIV3Schema"]
    called = ", ".join(f"`{name}`" for name in (names["plural"], *names.get("shortNames", ())))
    lines = [
        f"# {names['kind']}",
        "",
        schema["description"],
        "",
        f"`{spec['group']}/{stored['name']}`, {spec['scope'].lower()}; for kubectl {called}.",
        "",
        *_table(schema),
    ]
    newest_fields = set(_fields(schema))
    for version in spec["versions"]:
        if not version["storage"]:
            lines += _older(version, newest_fields)
    return "\n".join(lines) + "\n"


def _older(version: Document, newest_fields: set[tuple[str, str]]) -> Iterator[str]:
    """Return the table of the fields that an older version calls differently."""
    schema = version["schema"]["openAPIV3Schema"]
    yield f"\n## In {version['name']}\n"
    different = [field for field in _fields(schema) if field not in newest_fields]
    if not different:
        yield "The same fields."
        return
    yield "Served and converted, deprecated. Only these fields differ from the ones above:\n"
    yield from _table(schema, {path for path, _ in different})


def _table(schema: Document, only: set[str] | None = None) -> Iterator[str]:
    yield "| field | type | what it is |"
    yield "|---|---|---|"
    for path, node, required in _walk_fields(schema, ""):
        if only is None or path in only:
            yield f"| `{path}` | {_type(node)} | {_words(node, required=required)} |"


def _fields(schema: Document) -> Iterator[tuple[str, str]]:
    return ((path, _type(node)) for path, node, _ in _walk_fields(schema, ""))


def _walk_fields(schema: Document, path: str) -> Iterator[tuple[str, Document, bool]]:
    """Yield every field below a schema with its path, and whether it is required."""
    mandatory = schema.get("required", ())
    for name, node in schema.get("properties", {}).items():
        if not path and name in ("apiVersion", "kind", "metadata"):
            continue
        here = f"{path}.{name}" if path else name
        yield here, node, name in mandatory
        yield from _inside(node, here)


def _inside(node: Document, path: str) -> Iterator[tuple[str, Document, bool]]:
    if "items" in node:
        yield from _inside_any(node["items"], f"{path}[]")
    elif isinstance(node.get("additionalProperties"), dict):
        yield from _inside_any(node["additionalProperties"], f"{path}{{}}")
    else:
        yield from _walk_fields(node, path)


def _inside_any(node: Document, path: str) -> Iterator[tuple[str, Document, bool]]:
    yield from _walk_fields(node, path)
    if "items" in node or isinstance(node.get("additionalProperties"), dict):
        yield from _inside(node, path)


def _type(node: Document) -> str:
    if "items" in node:
        return f"list of {_type(node['items'])}"
    if isinstance(node.get("additionalProperties"), dict):
        return f"map of {_type(node['additionalProperties'])}"
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    return str(node.get("type", "any"))


def _words(node: Document, *, required: bool) -> str:
    sentence = " ".join(str(node.get("description", "")).split())
    facts = ["required"] if required else []
    if "enum" in node:
        facts.append("one of " + ", ".join(f"`{item}`" for item in node["enum"]))
    facts += _ranges(node)
    facts += [node["format"]] if "format" in node else []
    facts += [f"`{node['pattern']}`"] if "pattern" in node else []
    if "default" in node:
        facts.append(f"default `{node['default']}`")
    if keys := node.get("x-kubernetes-list-map-keys"):
        facts.append(f"one for each {', '.join(keys)}")
    facts += [
        validation["message"]
        for validation in node.get("x-kubernetes-validations", ())
        if "message" in validation
    ]
    return _cell(f"{sentence} ({'; '.join(facts)})" if facts else sentence)


def _ranges(node: Document) -> Iterator[str]:
    """`1 to 63 characters`, `at most 32 items` …"""
    for lowest, highest, text in _RANGES:
        low, high = node.get(lowest), node.get(highest)
        if high is not None:
            yield text.format(f"{low} to {high}" if low is not None else f"at most {high}")
        elif low:
            yield text.format(f"at least {low}")
        elif low == 0 and lowest == "minimum":
            yield "not negative"


def _cell(text: Any) -> str:
    return str(text).replace("|", r"\|")


def main(arguments: Sequence[str]) -> None:
    """Write the pages to the given folder and delete other pages in it."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    written = pages()
    for path in folder.glob("*.md"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
