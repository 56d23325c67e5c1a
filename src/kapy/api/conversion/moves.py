"""What many kinds have in common between v1beta1 and v1beta2: how one field becomes another.

All of them change a document in place; a field that is absent stays absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from kapy.api.conversion.spoke import CannotConvert, ReferenceVersion, Spoke
from kapy.kube import Document
from kapy.kube.duration import parse, text
from kapy.kube.names import GroupKind

MAX_SECONDS: Final = 2**31 - 1
_SECOND: Final = timedelta(seconds=1)
_WHOLE: Final = re.compile(r"(?:([0-9]{1,6})h)?(?:([0-9]{1,7})m)?(?:([0-9]{1,8})s)?")
"""Durations as most are, and none that is too long for Go."""


def seconds(duration: str) -> int:
    """A Go duration in whole seconds, as many as an int32 can hold.

    Of a field with `rules(form="duration")`: what is none was refused when it was read.
    """
    if plain := _WHOLE.fullmatch(duration):  # parsing in full costs ten times as much
        hours, minutes, rest = (int(one or 0) for one in plain.groups())
        return min(hours * 3600 + minutes * 60 + rest, MAX_SECONDS)
    whole = abs(found := parse(duration)) // _SECOND
    return min(whole, MAX_SECONDS) if found >= timedelta(0) else -whole


def duration(seconds: int) -> str:
    """Seconds as a Go duration."""
    return text(timedelta(seconds=seconds))


def timeouts_to_seconds(old: Document, new: Document, names: Mapping[str, str]) -> None:
    """Move durations (`nodeDrainTimeout`) to fields in seconds (`nodeDrainTimeoutSeconds`)."""
    for name, renamed in names.items():
        if (value := old.pop(name, None)) is not None:
            new[renamed] = seconds(value)


def timeouts_from_seconds(new: Document, old: Document, names: Mapping[str, str]) -> None:
    """The way back of `timeouts_to_seconds`."""
    for name, renamed in names.items():
        if (value := new.pop(renamed, None)) is not None:
            old[name] = duration(value)


DELETION_TIMEOUTS: Final = {
    f"node{what}Timeout": f"node{what}TimeoutSeconds"
    for what in ("Drain", "VolumeDetach", "Deletion")
}
"""Timeouts of a Machine's deletion, as v1beta1 and as v1beta2 call them."""


def contract_reference(reference: Document, path: str) -> Document:
    """A reference with a group instead of a version (and a namespace)."""
    api_version = reference.get("apiVersion", "")
    if api_version.count("/") > 1:
        raise CannotConvert(
            f"{path}.apiVersion", f"{api_version} is no apiVersion: it has more than one slash"
        )
    found = {
        "kind": reference.get("kind", ""),
        "name": reference.get("name", ""),
        "apiGroup": api_version.rpartition("/")[0],
    }
    return {key: value for key, value in found.items() if value}


def object_reference(
    reference: Document, namespace: str, version: ReferenceVersion, path: str
) -> Document:
    """A reference with a version, as the CRD of its kind says it. Raises CannotConvert."""
    kind = GroupKind(reference.get("apiGroup", ""), reference.get("kind", ""))
    try:
        api_version = version(kind)
    except LookupError as error:
        why = error.args[0] if error.args else "the version of its kind is not known"
        raise CannotConvert(path, f"{kind} {reference.get('name', '')}: {why}") from None
    found = {
        "kind": kind.kind,
        "namespace": namespace,
        "name": reference.get("name", ""),
        "apiVersion": api_version,
    }
    return {key: value for key, value in found.items() if value}


def bool_to_pointer(value: Any, remembered: Any) -> bool | None:
    """v1beta1 could not tell false from absent: false stays false only if it was said to be so."""
    return True if value else False if remembered is False else None


def int_to_pointer(value: Any, remembered: Any) -> int | None:
    """As `bool_to_pointer`, for numbers."""
    return value if value else 0 if remembered == 0 and remembered is not False else None


def put(document: Document, name: str, value: Any) -> None:
    """Set a member, or take it away when there is no value."""
    if value is None:
        document.pop(name, None)
    else:
        document[name] = value


def value_at(document: Document | None, *path: str) -> Any:
    """What stands at a path; None when nothing does."""
    found: Any = document
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found


COUNTERS: Final = ("readyReplicas", "availableReplicas", "upToDateReplicas")
"""Counters that have a new meaning, and in v1beta1 stand beside the new conditions."""


def initialization_to_hub(
    status: Document, remembered: Document | None, names: Mapping[str, str]
) -> None:
    """What v1beta1 called ready becomes milestones. names: the old ones and the new."""
    before = value_at(remembered, "status", "initialization")
    initialization: Document = {}
    status["initialization"] = initialization
    for old, new in names.items():
        value = bool_to_pointer(status.pop(old, False), value_at(before, new))
        put(initialization, new, value)


def initialization_from_hub(status: Document, names: Mapping[str, str]) -> None:
    """The way back of `initialization_to_hub`."""
    initialization = status.pop("initialization", {})
    for old, new in names.items():
        status[old] = bool(initialization.get(new))


def status_to_hub(status: Document, deprecated: tuple[str, ...], *, always: bool = False) -> None:
    """Conditions and what else changed its meaning: the old to `deprecated.v1beta1`, what stood in
    `v1beta2` to its place.

    deprecated: the fields beside `conditions` that only v1beta1 has. always: whether `deprecated`
    is there even when nothing is in it, as for kinds with counters.
    """
    old = {name: status.pop(name) for name in ("conditions", *deprecated) if name in status}
    new = status.pop("v1beta2", None) or {}
    status.update(new)
    if old or always:
        status["deprecated"] = {"v1beta1": old}


def status_from_hub(
    status: Document, deprecated: tuple[str, ...], new: tuple[str, ...] = ()
) -> None:
    """The way back of `status_to_hub`. new: the fields beside `conditions` that v1beta1 has in its
    `status.v1beta2` only."""
    moved = {name: status.pop(name) for name in ("conditions", *new) if name in status}
    old = value_at(status.pop("deprecated", None), "v1beta1") or {}
    for name in ("conditions", *deprecated):
        if name in old:
            status[name] = old[name]
    if moved:
        status["v1beta2"] = moved


def _conditions_to_hub(document: Document, _: Document | None) -> None:
    status_to_hub(document["status"], ())


def _conditions_from_hub(document: Document, _: ReferenceVersion) -> None:
    status_from_hub(document.get("status", {}), ())


CONDITIONS_MOVED: Final = Spoke(_conditions_to_hub, _conditions_from_hub, remembers=False)
"""An older version that differs only in its conditions."""
