"""Computes which part of a change an extension does not cover by an in-place update. Pure.

An extension answers with patches of the current objects. Only the spec of a patched object counts
(of a template: `spec.template.spec`); the change is covered if that spec then equals the desired
one. Messages name fields and never values, because a spec may contain boot data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kapy.hooks.errors import HookError
from kapy.hooks.messages.can_update_machine import CanUpdateMachineResponse
from kapy.hooks.messages.can_update_machine_set import CanUpdateMachineSetResponse
from kapy.hooks.messages.patch import JSON_MERGE_PATCH, JSON_PATCH, Patch
from kapy.kube import Document
from kapy.kube.foreign_json import BadJson, decoded
from kapy.kube.nested import Path, value_at
from kapy.kube.patch import merge_patch, strict_json_patch
from kapy.kube.patch.strict_json_patch import BadPatch

SHOWN: Final = 5
"""Fields of one object that a message names at most."""
_IN_A_TEMPLATE: Final = ("spec", "template", "spec")
_OF_A_MACHINE: Final = ("version", "failureDomain")
"""All other fields of a Machine's spec are changed in place by its owner anyway, or never."""


class Part(NamedTuple):
    """One of the objects in a request.

    field: its name in `current` and `desired`. path: the part that may be patched and is compared.
    only: the compared fields of it, () for all.
    """

    field: str
    path: Path
    only: Sequence[str] = ()


MACHINE_PARTS: Final = (
    Part("machine", ("spec",), _OF_A_MACHINE),
    Part("bootstrapConfig", ("spec",)),
    Part("infrastructureMachine", ("spec",)),
)
MACHINE_SET_PARTS: Final = (
    Part("machineSet", _IN_A_TEMPLATE, _OF_A_MACHINE),
    Part("bootstrapConfigTemplate", _IN_A_TEMPLATE),
    Part("infrastructureMachineTemplate", _IN_A_TEMPLATE),
)


def left_of_machine(
    current: Document, desired: Document, response: CanUpdateMachineResponse
) -> list[str]:
    """The reasons for which a Machine cannot be updated in place; empty if the whole change is
    covered.

    Raises HookError if a patch does not apply.
    """
    patches = (
        response.machine_patch,
        response.bootstrap_config_patch,
        response.infrastructure_machine_patch,
    )
    return _all_left(MACHINE_PARTS, patches, current, desired)


def left_of_machine_set(
    current: Document, desired: Document, response: CanUpdateMachineSetResponse
) -> list[str]:
    """The same as `left_of_machine`, for the Machines of a MachineSet."""
    patches = (
        response.machine_set_patch,
        response.bootstrap_config_template_patch,
        response.infrastructure_machine_template_patch,
    )
    return _all_left(MACHINE_SET_PARTS, patches, current, desired)


def _all_left(
    parts: Sequence[Part], patches: Sequence[Patch | None], current: Document, desired: Document
) -> list[str]:
    return [
        why
        for part, patch in zip(parts, patches, strict=True)
        for why in _left(part, current, desired, patch)
    ]


def _left(part: Part, current: Document, desired: Document, patch: Patch | None) -> Iterator[str]:
    before, wanted = current.get(part.field), desired.get(part.field)
    if before is None or wanted is None:
        return
    after = value_at(_patched(part, before, patch), part.path) or {}
    fields = list(_differing(part, after, value_at(wanted, part.path) or {}))
    if fields:
        more = f" and {len(fields) - SHOWN} more" if len(fields) > SHOWN else ""
        named = ", ".join(fields[:SHOWN])
        yield f"{before['kind']} cannot be updated in-place: {named}{more}"


def _patched(part: Part, document: Document, patch: Patch | None) -> Document:
    """The object after the patch; unchanged if the patched object has no value at the compared
    path."""
    if patch is None or not (patch.patch_type or patch.patch):
        return document
    try:
        after = _applied(document, patch)
    except (BadPatch, BadJson) as error:
        raise HookError(f"the patch of the {document['kind']} does not apply: {error}") from None
    return after if isinstance(after, dict) and value_at(after, part.path) is not None else document


def _applied(document: Document, patch: Patch) -> Any:
    """Apply a patch. Raises BadPatch and BadJson."""
    if patch.patch_type == JSON_PATCH:
        operations = strict_json_patch.compiled(decoded(patch.patch))
        return strict_json_patch.apply(document, operations)
    if patch.patch_type != JSON_MERGE_PATCH:
        said = f'"{patch.patch_type}"' if patch.patch_type else "not set"
        raise BadPatch(f"patchType is {said}; it can be {JSON_PATCH} or {JSON_MERGE_PATCH}")
    changes = decoded(patch.patch) if patch.patch else {}
    if not isinstance(changes, dict):
        raise BadPatch("a JSON merge patch is an object")
    return merge_patch.apply(document, changes)


def _differing(part: Part, after: Any, wanted: Any) -> Iterator[str]:
    """The paths of fields that differ from the desired ones."""
    prefix = ".".join(part.path)
    if part.only and isinstance(after, dict) and isinstance(wanted, dict):
        # No value and an empty one are the same in a Machine.
        after, wanted = (
            {field: one.get(field) or "" for field in part.only} for one in (after, wanted)
        )
    yield from _paths(after, wanted, prefix)


def _paths(one: Any, other: Any, path: str) -> Iterator[str]:
    if one == other:
        return
    if not (isinstance(one, dict) and isinstance(other, dict)):
        yield path
        return
    for name in sorted({*one, *other}):
        if name not in one or name not in other:
            yield f"{path}.{name}"
        else:
            yield from _paths(one[name], other[name], f"{path}.{name}")
