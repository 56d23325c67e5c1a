"""What is special about writing a resource.

A Strategy is stateless and shared by all servers. The writers (kapy.apiserver.verbs)
call it in kube-apiserver's order: `default` on the decoded object, admission's
defaulting, `prepare_*`, `validate`, admission's validation, the store.
"""

from __future__ import annotations

from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.qualified_names import dns_subdomain_errors


class Strategy:
    """A resource with nothing special, and the hooks for those that have.

    generation: `metadata.generation` counts changes of everything but metadata and status.
    status: `status` is a subresource, written only through it. unconditional: an update without
    a resourceVersion is allowed. status_at_birth: a new object may bring its status along.
    created_by_update: an update of what is not there creates it.
    qualified_finalizers: a finalizer has a domain, or is one of Kubernetes' own. metadata_last:
    metadata is looked at when nothing else is wrong. nothing: lists, as paths, that are null in
    the store when they are empty. looks, looks_at_status: how often an update of the kind, and of
    its status, has the metadata checked again, and its change: the errors repeat. status_alone: an
    update of the status changes no metadata. annotations_count: `metadata.generation` counts
    changes of annotations, too.
    """

    generation = False
    status = False
    unconditional = True
    status_at_birth = False
    created_by_update = False
    qualified_finalizers = True
    metadata_last = False
    nothing: tuple[tuple[str, ...], ...] = ()
    status_alone = False
    annotations_count = False
    looks: tuple[int, int] = (1, 1)
    looks_at_status: tuple[int, int] = (0, 1)

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        """What is wrong with a name; `prefix`: it is a generateName."""
        if prefix:
            name = masked(name)
        return dns_subdomain_errors(name)

    def default(self, document: Document) -> None:
        """Fill in what depends on the object alone, when it is decoded; the writer owns it."""

    def allocate(self, document: Document, old: Document | None, table: Table) -> None:
        """Give out what objects of the kind share, before the object is prepared and checked.

        `document` as for `prepare_create`. Raises Invalid.
        """

    def prepare_create(self, document: Document, table: Table) -> None:
        """Fill in what only the server knows. table: the other objects of the kind.

        `document` is private to this write, but its parts may be shared: replace, do not change.
        """

    def prepare_update(self, document: Document, old: Document) -> None:
        """The same before an update; what the subresource protects has been reset already."""

    def prepare_status(self, document: Document, old: Document) -> None:
        """The same before an update of the status subresource."""

    def stored(self, document: Document) -> Document:
        """The object as the store keeps it."""
        for path in self.nothing:
            document = _emptied(document, path)
        return document

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        """What is wrong with an object (and, with `old`, with the change)."""
        del document, old
        return []

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        """What is allowed but unwise."""
        del document, old
        return []


def _emptied(document: Document, path: tuple[str, ...]) -> Document:
    key, *rest = path
    value = document.get(key)
    if not rest:
        return {**document, key: None} if value == [] else document
    if not isinstance(value, dict):
        return document
    new = _emptied(value, tuple(rest))
    return document if new is value else {**document, key: new}


def masked(prefix: str) -> str:
    """A generateName with its last separator replaced, so that it can be checked as a name."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
