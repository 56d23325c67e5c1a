"""Admission of a provider's kinds: defaults, validation and conversion as pure functions.

    MACHINES = KindRules(
        PaperMachine,
        template=PaperMachineTemplate,
        defaults=with_sheets,      # the object with defaults; may change the copy that it is given
        problems=sheet_problems,   # what is wrong with `new`, given what it was before
    )
    RULES = Rulebook(MACHINES, CLUSTERS)

The same rules are served in process (`kapy.sdk.admission_in_process`) and as webhooks
(`kapy.sdk.admission_webhooks`). Of templates (contract: InfraMachineTemplate, InfraClusterTemplate
and their like, as a ClusterClass uses them) an author says nothing more. A template gets defaults
and is judged as an object made of it would be; the metadata that it hands on is checked; and its
`spec.template.spec` never changes, unless the topology controller asks by a dry run of server-side
apply what would become of a change.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

import msgspec

from kapy.api.names import Annotation
from kapy.api.validation.immutable import changed_fields, immutable_error
from kapy.api.validation.metadata import metadata_errors
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.meta import read
from kapy.kube.model import decode_problem, encode
from kapy.kube.names import GroupKind, Resource, split_api_version
from kapy.kube.nested import value_at, with_values
from kapy.kube.patch import merge_patch
from kapy.sdk.admission_versions import Version, convert

T = TypeVar("T")
_TEMPLATE: Final = ("spec", "template")

_log = logging.getLogger(__name__)


class RuleFailed(KapyError):
    """A function of the provider raised an error, which is in the log."""


@dataclass(frozen=True, slots=True)
class KindRules(Generic[T]):
    """The defaulting, validation and conversion rules of one kind.

    kind: its Struct, or its Resource for rules on documents; in the storage version. template: the
    kind of its templates, if any. defaults: returns the object with defaults; it gets a private
    copy. problems: returns the errors of an object, and of its change from the former state (None
    for a new one). versions, template_versions: the other versions of the API.
    """

    kind: type[T] | Resource
    template: type[Any] | Resource | None = None
    defaults: Callable[[T], T] | None = None
    problems: Callable[[T, T | None], Iterable[FieldError]] | None = None
    versions: Mapping[str, Version] = field(default_factory=dict)
    template_versions: Mapping[str, Version] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KindWithRules:
    """One kind that has rules: a kind of the provider, or its template."""

    resource: Resource
    rules: KindRules[Any]
    is_template: bool
    versions: Mapping[str, Version]

    @property
    def has_defaults(self) -> bool:
        """Whether the kind has a defaulting rule."""
        return self.rules.defaults is not None


class Rulebook:
    """The rules of all kinds of a provider."""

    def __init__(self, *rules: KindRules[Any]) -> None:
        value = [kind for rule in rules for kind in _kinds_with_rules(rule)]
        self.kinds: Mapping[GroupKind, KindWithRules] = {
            kind_with_rules.resource.group_kind: kind_with_rules for kind_with_rules in value
        }

    def of(self, document: Document) -> KindWithRules | None:
        """Return the rules for an object, in any version."""
        group, _ = split_api_version(str(document.get("apiVersion", "")))
        return self.kinds.get(GroupKind(group, str(document.get("kind", ""))))

    def default(self, document: Document) -> Document:
        """Return the object with defaults; the same object if none is missing. Raises
        RuleFailed.
        """
        ruled = self.of(document)
        if ruled is None or not ruled.has_defaults:
            return document
        if not ruled.is_template:
            return _apply_defaults(document, ruled.rules)
        inner = _object_from_template(document, ruled.rules)
        spec = _apply_defaults(inner, ruled.rules).get("spec")
        return with_values(document, {(*_TEMPLATE, "spec"): spec}) if spec else document

    def problems(
        self, new: Document, old: Document | None = None, *, dry_run: bool = False
    ) -> list[FieldError]:
        """Return the errors of an object that is valid by its schema. Raises RuleFailed."""
        ruled = self.of(new)
        if ruled is None:
            return []
        rules = ruled.rules
        if not ruled.is_template:
            return _problems(new, old, rules)
        errors = [] if old is None else self._change_errors(new, old, dry_run=dry_run)
        metadata = value_at(new, (*_TEMPLATE, "metadata")) or {}
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        errors += metadata_errors(labels, annotations, "spec.template.metadata")
        result = _problems(_object_from_template(new, rules), None, rules)
        return errors + [
            replace(field_error, field=f"spec.template.{field_error.field}")
            for field_error in result
        ]

    def convert(self, document: Document, api_version: str) -> Document:
        """Return the object in another version of its API. Raises CannotConvert."""
        ruled = self.of(document)
        if ruled is None:
            return {**document, "apiVersion": api_version}
        with _wrap_errors(ruled.resource, "convert"):
            return convert(document, api_version, ruled.resource, ruled.versions)

    def _change_errors(self, new: Document, old: Document, *, dry_run: bool) -> list[FieldError]:
        annotations = new["metadata"].get("annotations") or {}
        if dry_run and Annotation.TOPOLOGY_DRY_RUN in annotations:
            return []
        # An object that was stored before a default existed counts as unchanged.
        path = (*_TEMPLATE, "spec")
        before, after = (value_at(self.default(item), path) or {} for item in (old, new))
        changed = changed_fields(before, after)
        return [immutable_error(new["kind"], "a new resource", changed)] if changed else []


def _kinds_with_rules(rules: KindRules[Any]) -> Iterator[KindWithRules]:
    yield KindWithRules(_resource(rules.kind), rules, False, rules.versions)  # noqa: FBT003
    if rules.template is not None:
        yield KindWithRules(_resource(rules.template), rules, True, rules.template_versions)  # noqa: FBT003


def _resource(kind: type[Any] | Resource) -> Resource:
    resource: Resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    return resource


def _object_from_template(template: Document, rules: KindRules[Any]) -> Document:
    """Return the object that would be made from a template."""
    resource, inner = _resource(rules.kind), value_at(template, _TEMPLATE) or {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": inner.get("metadata") or {},
        "spec": inner.get("spec") or {},
    }


def _apply_defaults(document: Document, rules: KindRules[Any]) -> Document:
    assert rules.defaults is not None
    kind = rules.kind
    with _wrap_errors(_resource(kind), "defaults"):
        if isinstance(kind, Resource):
            result: Document = rules.defaults(copy.deepcopy(document))
            return result
        try:
            before, mine = read(document, kind), read(document, kind)
        except msgspec.ValidationError:
            return document  # validation reports what is wrong with it
        patch = merge_patch.difference(encode(before), encode(rules.defaults(mine)))
    defaulted: Document = merge_patch.apply(document, patch)
    return defaulted


def _problems(new: Document, old: Document | None, rules: KindRules[Any]) -> list[FieldError]:
    if rules.problems is None:
        return []
    kind, documents = rules.kind, [new] if old is None else [new, old]
    with _wrap_errors(_resource(kind), "problems"):
        if isinstance(kind, Resource):
            objects: Sequence[Any] = copy.deepcopy(documents)
        else:
            try:
                objects = [read(item, kind) for item in documents]
            except msgspec.ValidationError as error:
                return [_shape_error(error)]
        return list(rules.problems(objects[0], objects[1] if old is not None else None))


def _shape_error(error: msgspec.ValidationError) -> FieldError:
    path, why = decode_problem(error)
    return invalid(path or "spec", None, why)


@contextmanager
def _wrap_errors(resource: Resource, what: str) -> Iterator[None]:
    """Return the error for a mistake of the provider; the traceback goes to the log only."""
    try:
        yield
    except KapyError:
        raise
    except Exception as error:
        _log.exception("the %s of %s failed", what, resource.kind)
        raise RuleFailed(
            f"the {what} of {resource.kind} failed with {type(error).__name__}; the provider's log "
            "says where"
        ) from error
