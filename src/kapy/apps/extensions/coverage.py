"""Computes which part of a change an extension does not cover by an in-place update. Pure.

An extension answers with patches of the current objects. Only the spec of a patched object counts
(of a template: `spec.template.spec`); the change is covered if that spec then equals the desired
one. Messages name fields and never values, because a spec may contain boot data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kapy.hooks.errors import HookError
from kapy.hooks.messages.in_place_update import (
    JSON_MERGE_PATCH,
    JSON_PATCH,
    CanUpdateMachineResponse,
    CanUpdateMachineSetResponse,
    Patch,
)
from kapy.kube import Document
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.nested import Path, value_at
from kapy.kube.patch import merge_patch, strict_json_patch
from kapy.kube.patch.strict_json_patch import BadPatch

MAX_SHOWN: Final = 5
"""The maximum number of an object's fields in a message."""
_TEMPLATE_SPEC: Final = ("spec", "template", "spec")
_MACHINE_SPEC_FIELDS: Final = ("version", "failureDomain")
"""All other fields of a Machine's spec are changed in place by its owner anyway, or never."""


class Part(NamedTuple):
    """One of the objects in a request.

    field: the name of the object in `current` and `desired`. path: the path of the part that may be
    patched and is compared. only: the compared fields of the part, () for all.
    """

    field: str
    path: Path
    only: Sequence[str] = ()


MACHINE_PARTS: Final = (
    Part("machine", ("spec",), _MACHINE_SPEC_FIELDS),
    Part("bootstrapConfig", ("spec",)),
    Part("infrastructureMachine", ("spec",)),
)
MACHINE_SET_PARTS: Final = (
    Part("machineSet", _TEMPLATE_SPEC, _MACHINE_SPEC_FIELDS),
    Part("bootstrapConfigTemplate", _TEMPLATE_SPEC),
    Part("infrastructureMachineTemplate", _TEMPLATE_SPEC),
)


def uncovered_by_machine_update(
    current: Document, desired: Document, response: CanUpdateMachineResponse
) -> list[str]:
    """Return the reasons for which a Machine cannot be updated in place; empty if the whole change
    is covered.

    Raises HookError if a patch does not apply.
    """
    patches = (
        response.machine_patch,
        response.bootstrap_config_patch,
        response.infrastructure_machine_patch,
    )
    return _all_uncovered(MACHINE_PARTS, patches, current, desired)


def uncovered_by_machine_set_update(
    current: Document, desired: Document, response: CanUpdateMachineSetResponse
) -> list[str]:
    """Return the reasons for which the Machines of a MachineSet cannot be updated in place; empty
    if the whole change is covered.

    Raises HookError if a patch does not apply.
    """
    patches = (
        response.machine_set_patch,
        response.bootstrap_config_template_patch,
        response.infrastructure_machine_template_patch,
    )
    return _all_uncovered(MACHINE_SET_PARTS, patches, current, desired)


def _all_uncovered(
    parts: Sequence[Part], patches: Sequence[Patch | None], current: Document, desired: Document
) -> list[str]:
    return [
        reason
        for part, patch in zip(parts, patches, strict=True)
        for reason in _uncovered_paths(part, current, desired, patch)
    ]


def _uncovered_paths(
    part: Part, current: Document, desired: Document, patch: Patch | None
) -> Iterator[str]:
    before, wanted = current.get(part.field), desired.get(part.field)
    if before is None or wanted is None:
        return
    after = value_at(_patch_document(part, before, patch), part.path) or {}
    fields = list(_differing_paths(part, after, value_at(wanted, part.path) or {}))
    if fields:
        more = f" and {len(fields) - MAX_SHOWN} more" if len(fields) > MAX_SHOWN else ""
        named = ", ".join(fields[:MAX_SHOWN])
        yield f"{before['kind']} cannot be updated in-place: {named}{more}"


def _patch_document(part: Part, document: Document, patch: Patch | None) -> Document:
    """Return the object after the patch; unchanged if the patched object has no value at the
    compared path.
    """
    if patch is None or not (patch.patch_type or patch.patch):
        return document
    try:
        after = _apply_patch(document, patch)
    except (BadPatch, BadJson) as error:
        raise HookError(f"the patch of the {document['kind']} does not apply: {error}") from None
    return after if isinstance(after, dict) and value_at(after, part.path) is not None else document


def _apply_patch(document: Document, patch: Patch) -> Any:
    """Apply an extension's patch to a document; return the result. Raises BadPatch and BadJson."""
    if patch.patch_type == JSON_PATCH:
        operations = strict_json_patch.parse_patch(decode_json(patch.patch))
        return strict_json_patch.apply(document, operations)
    if patch.patch_type != JSON_MERGE_PATCH:
        result = f'"{patch.patch_type}"' if patch.patch_type else "not set"
        raise BadPatch(f"patchType is {result}; it can be {JSON_PATCH} or {JSON_MERGE_PATCH}")
    changes = decode_json(patch.patch) if patch.patch else {}
    if not isinstance(changes, dict):
        raise BadPatch("a JSON merge patch is an object")
    return merge_patch.apply(document, changes)


def _differing_paths(part: Part, after: Any, desired: Any) -> Iterator[str]:
    """The paths of fields that differ from the desired ones."""
    prefix = ".".join(part.path)
    if part.only and isinstance(after, dict) and isinstance(desired, dict):
        # In a Machine, an absent value and an empty one mean the same.
        after, desired = (
            {field: item.get(field) or "" for field in part.only} for item in (after, desired)
        )
    yield from _paths(after, desired, prefix)


def _paths(current: Any, desired: Any, path: str) -> Iterator[str]:
    if current == desired:
        return
    if not (isinstance(current, dict) and isinstance(desired, dict)):
        yield path
        return
    for name in sorted({*current, *desired}):
        if name not in current or name not in desired:
            yield f"{path}.{name}"
        else:
            yield from _paths(current[name], desired[name], f"{path}.{name}")
