"""The behaviour of a resource on writes.

A Strategy is stateless and shared by all servers. The verbs (kapy.apiserver.verbs) call it in
kube-apiserver's order: `default` on the decoded object, mutating admission, `prepare_*`,
`validate`, validating admission, the store.
"""

from __future__ import annotations

from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.qualified_names import dns_subdomain_errors


class Strategy:
    """The default behaviour of a resource, with methods for special rules.

    generation: `metadata.generation` counts changes outside metadata and status. status: `status`
    is a subresource, written only through it. allow_unconditional_update: an update may omit the
    resourceVersion. keep_status_on_create: a new object keeps its status. allow_create_on_update:
    an update creates a missing object. qualified_finalizers: a finalizer must have a domain or be
    one of Kubernetes' own. metadata_last: metadata is validated only if everything else is valid.
    null_if_empty: paths of lists that are stored as null if empty. metadata_checks,
    status_metadata_checks: the number of times that an update of the kind, and of its status,
    validates the metadata; each time reports its errors again. status_update_keeps_metadata: a
    status update changes no metadata. generation_counts_annotations: `metadata.generation` also
    counts changes of annotations.
    """

    generation = False
    status = False
    allow_unconditional_update = True
    keep_status_on_create = False
    allow_create_on_update = False
    qualified_finalizers = True
    metadata_last = False
    null_if_empty: tuple[tuple[str, ...], ...] = ()
    status_update_keeps_metadata = False
    generation_counts_annotations = False
    metadata_checks: tuple[int, int] = (1, 1)
    status_metadata_checks: tuple[int, int] = (0, 1)

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return the validation errors of a name. prefix: whether the name is a generateName."""
        if prefix:
            name = mask_generate_name(name)
        return dns_subdomain_errors(name)

    def default(self, document: Document) -> None:
        """Set defaults of a decoded object in place, from the object alone."""

    def allocate(self, document: Document, old: Document | None, table: Table) -> None:
        """Allocate shared values (such as IPs) before the object is prepared and validated.

        `document` as for `prepare_create`. Raises Invalid.
        """

    def prepare_create(self, document: Document, table: Table) -> None:
        """Set the fields of a new object that only the server sets. table: the other objects of the
        kind.

        `document` is private to this write, but its parts may be shared: replace, do not change.
        """

    def prepare_update(self, document: Document, old: Document) -> None:
        """Set the fields that only the server sets before an update.

        Fields that only a subresource writes are already reset.
        """

    def prepare_status(self, document: Document, old: Document) -> None:
        """Set the fields that only the server sets before an update of the status subresource."""

    def to_stored(self, document: Document) -> Document:
        """Return the object in its stored form, in which some empty lists are null."""
        for path in self.null_if_empty:
            document = _null_empty_lists(document, path)
        return document

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        """Return the errors of an object or, with `old`, of its update."""
        del document, old
        return []

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        """Return warnings about valid but problematic fields."""
        del document, old
        return []


def _null_empty_lists(document: Document, path: tuple[str, ...]) -> Document:
    key, *rest = path
    value = document.get(key)
    if not rest:
        return {**document, key: None} if value == [] else document
    if not isinstance(value, dict):
        return document
    new = _null_empty_lists(value, tuple(rest))
    return document if new is value else {**document, key: new}


def mask_generate_name(prefix: str) -> str:
    """Return a generateName with its last separator replaced, so that it validates as a name."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
