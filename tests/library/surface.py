"""Print the public names of the library with their signatures.

    python -m tests.library.surface docs/reference/public-surface.md

The page shows in a diff what a change takes from users or gives to them.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ForwardRef, get_args, get_origin

import msgspec

from kapy.api import kinds

PAGE = Path("docs/reference/public-surface.md")
MODULES = (
    "kapy.api",
    "kapy.kube.yaml",
    "kapy.client",
    "kapy.remote.workload_client",
    "kapy.sdk",
    "kapy.sdk.boot",
    "kapy.sdk.certificates",
    "kapy.sdk.console",
    "kapy.sdk.contracts",
    "kapy.sdk.controllers",
    "kapy.sdk.conversion",
    "kapy.sdk.credentials",
    "kapy.sdk.field_errors",
    "kapy.sdk.load_balancer",
    "kapy.sdk.machine_control_plane",
    "kapy.sdk.template_capacity",
    "kapy.sdk.workload_clusters",
    "kapy.hooks",
    "kapy.hooks.clusters",
    "kapy.hooks.mutation",
    "kapy.testing",
    "kapy.testing.extension",
    "kapy.testing.provider",
    "kapy.testing.conformance.behaviour",
)
HEAD = """# Public names

These names are covered by the [promise of stability](stability.md). Everything else of kapy is
private. The page is printed (`make reference`), and a test compares it with the code.
"""
LITERALS = (type(None), bool, int, float, str, tuple, enum.Enum)


class _Plain(str):
    """An annotation as it stands in the source: `inspect` would put it into quotes."""

    def __repr__(self) -> str:
        return str(self)


class _Default:
    """A default value that has no literal."""

    def __repr__(self) -> str:
        return "…"


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join([HEAD, *(_section(name) for name in MODULES), _kinds()])


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module: those of `__all__`, else what the module itself defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    )


def _section(name: str) -> str:
    module = import_module(name)
    lines = [line for text in names_of(module) for line in _entry(text, getattr(module, text))]
    return "\n".join([f"## {name}", "", "```python", *lines, "```", ""])


def _kinds() -> str:
    rows = sorted((f"kapy.api.{kind.module}", kind.name) for kind in kinds.KINDS)
    table = [f"| `{module}` | `{name}` |" for module, name in rows]
    text = "Their fields: [reference](api/README.md)."
    return "\n".join(["## Kinds", "", text, "", "| module | kind |", "|---|---|", *table, ""])


def _entry(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from _class(name, value)
    elif isinstance(value, ModuleType):
        yield f"{name}: module"
    elif inspect.isroutine(value):
        yield _function(name, value)
    else:
        yield f"{name}: {_type_name(value)}"


def _class(name: str, value: type[Any]) -> Iterator[str]:
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    yield f"class {name}({', '.join(bases)})" if bases else f"class {name}"
    for field, annotation in _fields(value):
        yield f"    {field}: {annotation}"
    for member, defined in vars(value).items():
        if isinstance(defined, enum.Enum):
            yield f"    {member} = {defined.value!r}"
        elif not member.startswith("_") or member == "__init__":
            yield from (f"    {line}" for line in _member(member, defined, value))


def _fields(value: type[Any]) -> Iterator[tuple[str, str]]:
    """The annotated public attributes that the class itself adds."""
    if issubclass(value, enum.Enum):
        return
    annotations = inspect.get_annotations(value)
    for field, annotation in annotations.items():
        if not field.startswith("_"):
            yield field, _text(annotation)


def _member(name: str, defined: Any, owner: type[Any]) -> Iterator[str]:
    if isinstance(defined, (staticmethod, classmethod)):
        yield f"{type(defined).__name__} {_function(name, defined.__func__)}"
    elif isinstance(defined, (property, cached_property)):
        getter: Any = defined.func if isinstance(defined, cached_property) else defined.fget
        yield f"property {name}: {_text(inspect.get_annotations(getter)['return'])}"
    elif inspect.isfunction(defined) and not _is_generated(defined, owner):
        yield _function(name, defined)


def _is_generated(function: Any, owner: type[Any]) -> bool:
    """Whether a dataclass or a Struct made the method of its fields."""
    if function.__name__ != "__init__":
        return False
    return hasattr(owner, "__dataclass_fields__") or issubclass(owner, msgspec.Struct)


def _function(name: str, function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return f"def {name}(…)"
    parameters = [
        parameter.replace(
            annotation=_plain(parameter.annotation), default=_default(parameter.default)
        )
        for parameter in signature.parameters.values()
    ]
    result = signature.replace(
        parameters=parameters, return_annotation=_plain(signature.return_annotation)
    )
    word = "async def" if inspect.iscoroutinefunction(function) else "def"
    return f"{word} {name}{result}"


def _plain(annotation: Any) -> Any:
    return annotation if annotation is inspect.Signature.empty else _Plain(_text(annotation))


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty or isinstance(value, LITERALS):
        return value
    return _Default()


def _text(annotation: Any) -> str:
    """The type of an annotation as it stands in the source, without what `Annotated` adds."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if get_origin(annotation) is Annotated:
        return _text(annotation.__origin__)
    if not isinstance(annotation, str):
        return _type_name(annotation)
    if "Annotated[" not in annotation:
        return annotation
    return ast.unparse(_WithoutRules().visit(ast.parse(annotation, mode="eval")))


class _WithoutRules(ast.NodeTransformer):
    """Replaces `Annotated[T, …]` by `T`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        is_annotated = isinstance(node.value, ast.Name) and node.value.id == "Annotated"
        if is_annotated and isinstance(node.slice, ast.Tuple):
            inner: ast.AST = self.visit(node.slice.elts[0])
            return inner
        return self.generic_visit(node)


def _type_name(value: Any) -> str:
    if isinstance(value, type) and not get_args(value):
        return value.__name__
    if type(value).__module__ in ("typing", "types"):
        return re.sub(r"\b(\w+\.)+", "", str(value))
    return type(value).__name__


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    target.write_text(page(), encoding="utf-8")
