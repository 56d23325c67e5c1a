"""Records which patch changed which field of a desired state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from kapy.kube.patch.strict_json_patch import Operation
from kapy.topology.patches.external import MergePatch
from kapy.topology.patches.fields import TEMPLATE_INTO_OBJECT
from kapy.topology.patches.template_uses import Use


@dataclass(frozen=True, slots=True)
class Cause:
    """One change that a patch made. Later patches may have changed the same field again.

    kind, name: the desired object. path: the field in it (a JSON pointer). definition: its index in
    the patch, None for a patch of an extension. source: the origin of the value: `variable x`,
    `template …`, or "" for a constant in the patch.
    """

    kind: str
    name: str
    path: str
    patch: str
    definition: int | None = None
    source: str = ""


def causes_of(
    use: Use,
    patch: str,
    change: Sequence[Operation] | MergePatch,
    definition: int | None = None,
    sources: Sequence[str] = (),
) -> Iterator[Cause]:
    """The changes that a patch made to the object or template created from a template."""
    document = use.place.document
    for path, source in zip_longest(_paths(change), sources, fillvalue=""):
        there = _in_object(path) if use.place.fields is TEMPLATE_INTO_OBJECT else path
        yield Cause(
            document["kind"], document["metadata"]["name"], there, patch, definition, source
        )


def _paths(change: Sequence[Operation] | MergePatch) -> Iterator[str]:
    if isinstance(change, MergePatch):
        yield from _leaves(change.patch, "")
    else:
        yield from (operation.path for operation in change if operation.op != "test")


def _leaves(patch: Any, path: str) -> Iterator[str]:
    if not isinstance(patch, dict):
        yield path
        return
    for key, value in patch.items():
        yield from _leaves(value, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")


_TEMPLATE: Final = "/spec/template"


def _in_object(path: str) -> str:
    """Map a path in a template to the path in the object created from it."""
    return path.removeprefix(_TEMPLATE) if path.startswith(f"{_TEMPLATE}/") else path
