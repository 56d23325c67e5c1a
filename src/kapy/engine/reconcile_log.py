"""Log what reconciles do, with the fields of upstream's structured logs.

Each record that is logged during a reconcile belongs to it: `fields_of` adds the controller, the
object, the Cluster and an ID of the reconcile. At level INFO (`-v 2` of a manager, `-v` of a plane)
the log has all objects that were created or deleted, and each change of a condition or a phase;
at level DEBUG all other writes and requeues as well.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

from kapy.client.client import WriteVerb
from kapy.engine.cluster_of import cluster_name_of
from kapy.kube import Document, Key
from kapy.kube.names import Resource, split_api_version

log = logging.getLogger(__name__)

_LONGEST_MESSAGE: Final = 1024
"""Characters of the message of a condition in the log."""
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
"""The kinds that become names of fields: no field of kapy's begins with an upper-case letter."""


class ReconcileContext:
    """One reconcile, for the records that are logged while it runs.

    document: the object, once it is read. is_over: True when the reconcile has ended: tasks that it
    started may outlive it.
    """

    __slots__ = ("_id", "controller", "document", "is_over", "key")

    def __init__(self, controller: str, key: Key) -> None:
        self.controller = controller
        self.key = key
        self.document: Document | None = None
        self.is_over = False
        self._id = ""

    def end(self) -> None:
        """Record that the reconcile has ended. Its task and those that it started keep the context,
        which must not keep the object.
        """
        self.is_over = True
        self.document = None

    def fields(self) -> dict[str, Any]:
        """Return the fields, by upstream's names."""
        from uuid import uuid4  # most processes never need it

        self._id = self._id or str(uuid4())
        namespace, name = self.key.namespace, self.key.name
        about, related = _about(self.key, self.document)
        where = {"namespace": namespace, "name": name, "reconcileID": self._id}
        fields = {"controller": self.controller} | about | where
        return fields | {kind: value for kind, value in related.items() if kind not in about}


CURRENT: Final[ContextVar[ReconcileContext | None]] = ContextVar("reconcile", default=None)


def set_object(document: Document) -> None:
    """Tell the log which object the running reconcile has read."""
    context = CURRENT.get()
    if context is not None:
        context.document = document


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a record: those of the reconcile that logs it, and its own.

    To be called while the record is handled.
    """
    context = CURRENT.get()
    fields = {} if context is None or context.is_over else context.fields()
    return fields | (getattr(record, "fields", None) or {})


def log_write(verb: WriteVerb, resource: Resource, key: Key) -> None:
    """Log a write that succeeded."""
    level = logging.DEBUG if verb == "wrote" else logging.INFO
    if log.isEnabledFor(level):
        log.log(level, "%s %s %s", verb, resource.kind, key)


def log_changes(before: Document, after: Document) -> None:
    """Log how the phase and the conditions of an object differ between two states of it."""
    if log.isEnabledFor(logging.INFO):
        changes = ", ".join(_changes(_part(before, "status"), _part(after, "status")))
        if changes:
            log.info("%s %s: %s", after.get("kind"), Key.of(after), changes)


def _changes(before: Document, after: Document) -> Iterator[str]:
    was, phase = before.get("phase"), after.get("phase")
    if phase and phase != was:
        yield f"phase={phase}" + (f" (was {was})" if was else "")
    former = {str(item.get("type")): item for item in _conditions(before)}
    for condition in _conditions(after):
        old = former.get(str(condition.get("type")), {})
        if any(condition.get(field) != old.get(field) for field in ("status", "reason")):
            yield _state(condition)


def _part(document: Document, name: str) -> Document:
    """Return a part of an object, {} if it is of another type: the server may have no schema."""
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _conditions(status: Document) -> list[Document]:
    conditions = status.get("conditions")
    items = conditions if isinstance(conditions, list) else []
    return [item for item in items if isinstance(item, dict)]


def _state(condition: Document) -> str:
    reason, message = str(condition.get("reason") or ""), str(condition.get("message") or "")
    line = " ".join(part.strip() for part in message[:_LONGEST_MESSAGE].splitlines())
    if len(message) > _LONGEST_MESSAGE:
        line += " …"
    why = ": ".join(filter(None, (reason, line)))
    return f"{condition.get('type')}={condition.get('status')}" + (f" ({why})" if why else "")


def _about(key: Key, document: Document | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of an object, and references to its Cluster and its controller."""
    kind = (document or {}).get("kind")
    if document is None or not kind:
        return {}, {}
    group, _ = split_api_version(document.get("apiVersion", ""))
    about = {"controllerGroup": group, "controllerKind": kind, kind: _reference(key)}
    related = {}
    if cluster := cluster_name_of(document):
        related["Cluster"] = _reference(Key(key.namespace, cluster))
    for owner in document["metadata"].get("ownerReferences") or ():
        owner_kind = str(owner.get("kind"))
        if owner.get("controller") and owner_kind != "Cluster" and _KIND.fullmatch(owner_kind):
            related[owner_kind] = _reference(Key(key.namespace, str(owner.get("name"))))
    return about, related


def _reference(key: Key) -> dict[str, str]:
    return {"name": key.name, "namespace": key.namespace}
