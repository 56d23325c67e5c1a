"""Tracking of writes and server-side apply, over all versions of one kind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec.structs import replace

from kapy.kube import Document
from kapy.kube.apply import last_applied
from kapy.kube.apply import managers as entries
from kapy.kube.apply.comparison import changes
from kapy.kube.apply.fields import (
    Fields,
    difference,
    exclude,
    intersection,
    union,
)
from kapy.kube.apply.kinds import Types
from kapy.kube.apply.managers import Identity, ManagedEntry, Managers, Write
from kapy.kube.apply.merging import (
    merge,
    owned_fields,
    with_parent_paths,
    without,
    without_nulls,
    without_server_fields,
)
from kapy.kube.apply.refusals import Conflicts, apply_failed, check_applied, check_live
from kapy.kube.apply.type_errors import fits, type_error_text
from kapy.kube.errors import ApiError
from kapy.kube.patch.merge_patch import is_equal_json

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_PRUNE: Final = "failed to prune fields: "


ToVersion = Callable[[Document, str], Document]
"""An object of a kind in another apiVersion; an ApiError where that cannot be had."""

Differences = tuple[Fields | None, Fields | None]


class _Unconvertible(Exception):
    """An object cannot be converted to a version in which some of its fields are owned."""


class Tracker:
    """Tracks the field ownership of one kind's objects over all versions."""

    def __init__(
        self,
        types: Mapping[str, Types],
        convert: ToVersion | None = None,
    ) -> None:
        """Create the tracker of a kind.

        types: merge types by apiVersion, for all served versions. convert: converts an object to
        another apiVersion; without it only `apiVersion` is changed.
        """
        self._types = types
        self._convert = convert or _with_api_version

    @property
    def versions(self) -> Collection[str]:
        """The apiVersions of the kind."""
        return self._types.keys()

    def track(self, live: Document | None, new: Document, write: Write) -> Document:
        """Return `new` with updated `managedFields`. live: None for a new object.

        The `managedFields` in `new` have the same effect as at kube-apiserver: absent (or not
        decodable) keeps those of `live`, one empty entry (of a core kind also an empty list)
        resets them, anything else replaces them; those in a subresource's request are ignored.
        Never raises: whether the entries are valid is checked elsewhere.
        """
        if self._unfit_status(new, write):
            return _bare(new)
        # managedFields have an untracked type, so the comparison ignores them.
        before = live if live is not None else self._nothing(new)
        managers = self._managers_before(live, new["metadata"].get("managedFields"), write)
        if not managers and live is not None and live["metadata"].get("uid"):
            return _bare(new)
        try:
            return _with_managed_fields(
                new, self._managers_after_update(before, new, managers, write)
            )
        except _Unconvertible:
            return _bare(new)

    def _unfit_status(self, new: Document, write: Write) -> bool:
        """Return whether the write discards a status that does not fit the types, as nobody
        validates such a status.

        kube-apiserver then stops tracking the whole object.
        """
        if "status" not in new or not write.reset or "f:status" not in write.reset:
            return False
        types = self._types[write.api_version]
        status = types.root.type_of("status")
        return not types.typed and not fits(status, new["status"], repeated=True)

    def apply(
        self, live: Document | None, applied: Document, write: Write, *, force: bool
    ) -> Document:
        """Return `live` (None: no object) with `applied` merged in by server-side apply.

        Fields that the manager applied earlier and does not apply now are removed, unless other
        managers own them. The caller fills in defaults. The result is `live` itself if neither the
        object nor any ownership changed. Raises Conflict with kube-apiserver's message and causes
        if others own a field with another value and `force` is not set; BadRequest if `applied` has
        managedFields; ApplyFailed (500, as in kube-apiserver) if it does not fit the types.
        """
        check_applied(self._types[write.api_version], applied)
        try:
            result = self._apply_over(live, applied, write, force=force)
        except _Unconvertible as error:
            raise apply_failed(str(error)) from None
        except Conflicts as conflicts:
            raise conflicts.error() from None
        return last_applied.refresh_annotation(result, applied) if _by_kubectl(write) else result

    def _apply_over(
        self, live: Document | None, applied: Document, write: Write, *, force: bool
    ) -> Document:
        """Apply an object; fields that kubectl applied client-side before are no conflicts."""
        try:
            return self._applied_object(live, applied, write, force=force)
        except Conflicts as conflicts:
            if not _by_kubectl(write) or live is None:
                raise
            root = self._types[write.api_version].root
            others = conflicts.without(last_applied.unchanged_fields(root, live))
            if others is not None:
                raise others from None
        return self._applied_object(live, applied, write, force=True)

    def _applied_object(
        self, live: Document | None, applied: Document, write: Write, *, force: bool
    ) -> Document:
        types = self._types[write.api_version]
        before = _bare(live) if live is not None else self._nothing(applied)
        managers = entries.read(live["metadata"].get("managedFields") or ()) if live else {}
        if not types.typed and _foreign(managers, write.api_version):
            check_live(types, before)  # one version: checked when it was written
        if not managers and live is not None:
            first = replace(write, manager=_BEFORE_FIRST_APPLY)
            managers = self._managers_after_update(self._nothing(live), before, managers, first)
        own = write.identity(applies=True)
        last = managers.get(own)
        after: Document = merge(types.root, before, applied)
        now_owned = exclude(owned_fields(types.root, applied), write.reset) or {}
        managers[own] = ManagedEntry(write.api_version, now_owned, last.time if last else None)
        if last is not None and last.fields:
            after = self._without_dropped_fields(after, last, managers, write.api_version)
        changed = self._settle(before, after, managers, own, write, force=force)
        if types.typed:
            after = without_nulls(types.root, before, after)
        return self._finish(live, before, after, changed, own, last, write)

    def _finish(
        self,
        live: Document | None,
        before: Document,
        after: Document,
        managers: Managers,
        own: Identity,
        last: ManagedEntry | None,
        write: Write,
    ) -> Document:
        """Return the object with its new entries; their time changes only if the object itself
        changed.
        """
        unchanged = is_equal_json(before, after)
        mine = managers.get(own)
        if mine is not None and not unchanged:
            managers[own] = ManagedEntry(mine.api_version, mine.fields, write.time)
        elif mine is not None and last is not None and _equal(mine, last):
            managers[own] = last
        result = _with_managed_fields(before if unchanged else after, managers)
        if live is not None and unchanged and is_equal_json(live, result):
            return live
        return result

    def _managers_before(self, live: Document | None, sent: object, write: Write) -> Managers:
        """Return the entries before the write."""
        stored = live["metadata"].get("managedFields") if live is not None else None
        if sent is stored or write.subresource or sent is None:
            return entries.read(stored or ())
        if sent == [{}] or (sent == [] and self._types[write.api_version].typed):
            return {}
        return entries.parse_entries(sent) or entries.read(stored or ())

    def _managers_after_update(
        self, before: Document, new: Document, managers: Managers, write: Write
    ) -> Managers:
        """Return the entries after an update: the manager of the update owns the fields that it
        changed, and nobody else does.
        """
        changed, removed = self._differences(before, new, write)
        if changed is None and removed is None and not _foreign(managers, write.api_version):
            return {identity: entry for identity, entry in managers.items() if entry.fields}
        if changed is None:
            return self._without_changed_fields(managers, before, new, write, (changed, removed))
        own = write.identity(applies=False)
        managers = self._without_changed_fields(
            managers, before, new, write, (changed, removed), own
        )
        mine, fields = managers.get(own), changed
        if mine is not None:
            # An unchanged set of fields stays the same object, which is stored once.
            mine_before = mine.fields if removed is None else difference(mine.fields, removed)
            fields = union(mine_before, changed)
        managers[own] = ManagedEntry(write.api_version, fields, write.time)
        entries.cap(managers)
        return managers

    def _differences(self, before: Document, after: Document, write: Write) -> Differences:
        changed, removed = changes(self._types[write.api_version].root, before, after)
        if write.reset:
            return exclude(changed, write.reset), exclude(removed, write.reset)
        return changed, removed

    def _without_changed_fields(
        self,
        managers: Managers,
        before: Document,
        after: Document,
        write: Write,
        differences: Differences,
        own: Identity | None = None,
    ) -> Managers:
        """Return the entries without the fields that this write changed or removed, except those of
        `own`.
        """
        by_version = {write.api_version: differences}
        result: Managers = {}
        for identity, entry in managers.items():
            if identity == own:
                result[identity] = entry
                continue
            known_differences = self._differences_in(
                by_version, entry.api_version, before, after, write
            )
            fields = entry.fields
            for removed in known_differences:
                fields = difference(fields, removed) if removed is not None else fields
            if fields:
                result[identity] = entry.with_fields(fields)
        return result

    def _differences_in(
        self,
        by_version: dict[str, Differences],
        version: str,
        before: Document,
        after: Document,
        write: Write,
    ) -> Differences:
        """Return the differences in another version. Raises _Unconvertible. Fields that a status
        write ignores are ignored in every version; those of other writes only in their own version.
        """
        if version not in by_version:
            old = self._convert_and_check(_bare(before), version, "failed to convert old object: ")
            new = self._convert_and_check(after, version, "failed to convert new object: ")
            reset = write.reset if write.subresource == "status" else None
            changed, removed = changes(self._types[version].root, old, new)
            by_version[version] = exclude(changed, reset), exclude(removed, reset)
        return by_version[version]

    def _convert_and_check(self, document: Document, version: str, failure: str) -> Document:
        """Convert an object to another version and check its types. Raises _Unconvertible. failure:
        the beginning of the error.
        """
        types = self._types.get(version)
        if types is None:
            text = f"request to convert CR to an invalid group/version: {version}"
        elif document["apiVersion"] == version:
            return document
        else:
            try:
                document = self._convert(document, version)
            except ApiError as error:
                raise _Unconvertible(f"{failure}{error}") from None
            text = type_error_text(types.root, document)
        if text:
            raise _Unconvertible(f"{failure}{text}")
        return document

    def _settle(
        self,
        before: Document,
        after: Document,
        managers: Managers,
        own: Identity,
        write: Write,
        *,
        force: bool,
    ) -> Managers:
        """Return the entries after an apply. Raises Conflicts."""
        differences = self._differences(before, after, write)
        if not force:
            self._refuse_conflicts(before, after, managers, own, write, differences)
        result = self._without_changed_fields(managers, before, after, write, differences, own)
        fields = without_server_fields(result[own].fields)
        result[own] = result[own].with_fields(fields)
        if not fields:
            del result[own]
        return result

    def _refuse_conflicts(
        self,
        before: Document,
        after: Document,
        managers: Managers,
        own: Identity,
        write: Write,
        differences: Differences,
    ) -> None:
        by_version = {write.api_version: differences}
        contested: dict[Identity, Fields] = {}
        for identity, entry in managers.items():
            if identity == own:
                continue
            changed, _ = self._differences_in(by_version, entry.api_version, before, after, write)
            if changed is not None and (fields := intersection(entry.fields, changed)):
                contested[identity] = fields
        if contested:
            raise Conflicts(contested)

    def _without_dropped_fields(
        self, after: Document, last: ManagedEntry, managers: Managers, version: str
    ) -> Document:
        """Return `after` without the fields that the manager applied last time and nobody owns now.
        Raises _Unconvertible.
        """
        types = self._types.get(last.api_version)
        if types is None:
            return after
        before, what = last.api_version, f"{_PRUNE}failed to convert merged object to last applied"
        whole = self._convert_and_check(after, before, f"{what} version: ")
        last_fields = with_parent_paths(types.root, last.fields)
        pruned = without(types.root, whole, last_fields)
        by_version: dict[str, Fields] = {}
        for entry in managers.values():
            so_far = by_version.get(entry.api_version, {})
            by_version[entry.api_version] = union(so_far, entry.fields)
        for other in sorted(by_version, key=lambda item: item != before):
            if other in self._types:
                whole, pruned = self._with_owned(whole, pruned, by_version[other], other)
        what = f"{_PRUNE}failed add back dangling items: failed to convert pruned object to last"
        pruned = self._convert_and_check(pruned, before, f"{what} applied version: ")
        whole = self._as(whole, before)
        removed = difference(_all(types, whole), _all(types, pruned))
        result = without(types.root, whole, intersection(removed, last_fields))
        return self._convert_and_check(result, version, _PRUNE)

    def _with_owned(
        self, whole: Document, pruned: Document, fields: Fields, version: str
    ) -> tuple[Document, Document]:
        """Return `pruned` with the values in `whole` at the paths of `fields` restored, both in
        `version`.
        """
        failure = f"{_PRUNE}failed add back owned items: failed to convert"
        whole = self._convert_and_check(
            whole, version, f"{failure} merged object at version {version}: "
        )
        pruned = self._convert_and_check(
            pruned, version, f"{failure} pruned object at version {version}: "
        )
        types = self._types[version]
        paths = union(_all(types, pruned), with_parent_paths(types.root, fields))
        return whole, without(types.root, whole, difference(_all(types, whole), paths))

    def _nothing(self, like: Document) -> Document:
        """Return the empty object that stands for an object before its creation. like: an object of
        the same version.
        """
        api_version = like["apiVersion"]
        return {**self._types[api_version].zero, "apiVersion": api_version, "kind": like["kind"]}

    def _as(self, document: Document, version: str) -> Document:
        return document if document["apiVersion"] == version else self._convert(document, version)


def _all(types: Types, document: Document) -> Fields:
    return with_parent_paths(types.root, owned_fields(types.root, document) or {})


def _by_kubectl(write: Write) -> bool:
    return write.manager == last_applied.MANAGER


def _equal(left: ManagedEntry, right: ManagedEntry) -> bool:
    return left.api_version == right.api_version and left.fields == right.fields


def _foreign(managers: Managers, version: str) -> bool:
    """Return whether any entry has another version than that of the request, or none."""
    return any(entry.api_version != version for entry in managers.values())


def _with_api_version(document: Document, api_version: str) -> Document:
    return {**document, "apiVersion": api_version}


def _bare(document: Document) -> Document:
    """Return the document without managedFields."""
    metadata = document.get("metadata") or {}
    if "managedFields" not in metadata:
        return document
    rest = metadata.copy()
    del rest["managedFields"]
    return {**document, "metadata": rest}


def _with_managed_fields(document: Document, managers: Managers) -> Document:
    """Return the document with these managedFields."""
    if not managers:
        return _bare(document)
    metadata = {
        **(document.get("metadata") or {}),
        "managedFields": entries.encode_entries(managers),
    }
    return {**document, "metadata": metadata}
