"""Validation of a CustomResourceDefinition, its names included.

kube-apiserver's internal type keeps what all versions share outside `spec.versions`, and its errors
name those fields; see `definition_versions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from kapy.apiserver.resources.builtin.definition_schemas import (
    has_pruned_defaults,
    is_structural,
    schema_errors,
)
from kapy.apiserver.resources.builtin.definition_versions import (
    Versions,
    column_errors,
    deprecation_errors,
    scale_errors,
    selectable_errors,
)
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, invalid, not_supported, required
from kapy.kube.qualified_names import dns_1035_label_errors, dns_subdomain_errors
from kapy.kube.schema import Strictness, strictness_after
from kapy.kube.urls import request_uri


def missing_name_errors(names: Document) -> Iterator[FieldError]:
    """Yield errors for missing fields in `spec.names`."""
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")


def name_errors(names: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of the names in `spec` or `status`; empty names are skipped."""
    for field in ("plural", "singular"):
        yield from _label_errors(names.get(field, ""), f"{path}.{field}")
    for field in ("kind", "listKind"):
        name = names.get(field, "")
        if name and (wrong := dns_1035_label_errors(name.lower())):
            text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            yield invalid(f"{path}.{field}", name, text)
    yield from _list_errors(names, path, "shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        text = "kind and listKind may not be the same"
        yield invalid(f"{path}.listKind", names["listKind"], text)
    yield from _list_errors(names, path, "categories")


def _list_errors(names: Document, path: str, field: str) -> Iterator[FieldError]:
    for index, name in enumerate(names.get(field) or ()):
        if wrong := dns_1035_label_errors(name):
            yield invalid(f"{path}.{field}[{index}]", name, ",".join(wrong))


def _label_errors(name: str, path: str) -> Iterator[FieldError]:
    if name and (wrong := dns_1035_label_errors(name)):
        yield invalid(path, name, ",".join(wrong))


_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_APPROVAL: Final = "api-approved.kubernetes.io"
_IMMUTABLE: Final = "field is immutable"
_PRESERVE: Final = "preserveUnknownFields"
_PRESERVE_SENTENCE: Final = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)


def definition_errors(document: Document, old: Document | None) -> list[FieldError]:
    """Return the errors of a definition or, with `old`, of its update."""
    spec, status = document["spec"], document.get("status") or {}
    errors: list[FieldError] = FieldErrors()
    if old is not None and spec == old["spec"]:  # only metadata or status changes
        errors += name_errors(status.get("acceptedNames") or {}, "status.acceptedNames")
        return [*errors, *_approval_errors(document, old)]
    if old is None:
        errors += _own_name_errors(document)
    errors += _spec_errors(spec, old)
    if old is not None:
        errors += _change_errors(spec, old)
    errors += name_errors(status.get("acceptedNames") or {}, "status.acceptedNames")
    errors += _stored_errors(spec, status)
    errors += _approval_errors(document, old)
    if spec.get(_PRESERVE) and (old is None or not old["spec"].get(_PRESERVE)):
        errors.append(invalid(f"spec.{_PRESERVE}", True, _PRESERVE_SENTENCE))  # noqa: FBT003
    return errors


def is_established(document: Document) -> bool:
    """Report whether the definition is Established, after which its names cannot change."""
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (document.get("status") or {}).get("conditions") or ()
    )


def _own_name_errors(document: Document) -> Iterator[FieldError]:
    spec, name = document["spec"], document["metadata"].get("name", "")
    names = spec.get("names") or {}
    if name and name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _spec_errors(spec: Document, old: Document | None) -> Iterator[FieldError]:
    versions = Versions.of(spec)
    demands = _SchemaChecks(versions, spec, old)
    yield from _group_errors(spec.get("group", ""))
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ["Cluster", "Namespaced"])
    yield from demands.missing_schema_errors()
    if spec.get(_PRESERVE) and versions.have_defaults():
        text = "must be false in order to use defaults in the schema"
        yield invalid(f"spec.{_PRESERVE}", True, text)  # noqa: FBT003
    yield from _version_errors(versions, demands)
    yield from missing_name_errors(spec.get("names") or {})
    yield from name_errors(spec.get("names") or {}, "spec.names")
    yield from _shared_errors(versions, demands)
    conversion = spec.get("conversion") or {}
    if spec.get(_PRESERVE) and conversion.get("strategy") != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        yield invalid("spec.conversion.strategy", conversion.get("strategy") or "", text)
    yield from _conversion_errors(conversion, old)


class _SchemaChecks:
    """The checks for the schemas of a definition, which depend on the old definition's schemas."""

    def __init__(self, versions: Versions, spec: Document, old: Document | None) -> None:
        self._versions = versions
        self._all_schemas = True
        self._preserves = bool(spec.get(_PRESERVE))
        self._before: dict[str, Document | None] = {}
        self._demands = Strictness()
        if old is not None:
            before = old["spec"].get("versions") or ()
            self._before = {item.get("name", ""): _schema(item) for item in before}
            schemas = [value for value in self._before.values() if value is not None]
            self._all_schemas = len(schemas) == len(before)
            if any(schema not in schemas for schema in versions.schemas()):
                self._demands = self._relax(schemas)

    def _relax(self, schemas: Sequence[Document]) -> Strictness:
        structural = all(map(is_structural, schemas))
        demands = strictness_after(schemas, structural, all(map(has_pruned_defaults, schemas)))
        # A feature that needs a structural schema, above all pruning, requires it again.
        return demands if self._preserves else replace(demands, structural=True)

    def of(self, version: str) -> Strictness:
        """Return the checks for the schema of a version."""
        schema = self._versions.schema_of(version)
        if schema is not None and self._before.get(version) == schema:
            return replace(self._demands, cheap_rules=False)
        return self._demands

    def missing_schema_errors(self) -> Iterator[FieldError]:
        """Yield an error for each version (or each served version) without a schema."""
        text = "" if self._all_schemas else "because otherwise all fields are pruned"
        for index, version in enumerate(self._versions.listed):
            if _schema(version) is not None:
                continue
            if self._all_schemas or (version.get("served") and not self._preserves):
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema", text)


def _schema(version: Document) -> Document | None:
    schema: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _version_errors(versions: Versions, demands: _SchemaChecks) -> Iterator[FieldError]:
    for index, version in enumerate(versions.listed):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        if wrong := dns_1035_label_errors(name):
            yield invalid(f"{path}.name", name, ",".join(wrong))
        yield from deprecation_errors(version, f"{path}.deprecationWarning")
        own = versions.version_fields(version)
        schema = (own.get("schema") or {}).get("openAPIV3Schema")
        if schema is not None:
            where = f"{path}.schema.openAPIV3Schema"
            yield from schema_errors(
                schema, where, demands.of(name), status=versions.has_status(name)
            )
        yield from scale_errors(own.get("subresources"), f"{path}.subresources")
        for at, column in enumerate(own.get("additionalPrinterColumns") or ()):
            yield from column_errors(column, f"{path}.additionalPrinterColumns[{at}]")
        if fields := own.get("selectableFields"):
            yield from selectable_errors(fields, schema, f"{path}.selectableFields", shared=False)
    names = versions.names
    if len(set(names)) != len(names):
        yield invalid("spec.versions", versions.to_internal(), "must contain unique version names")
    if sum(bool(item.get("storage")) for item in versions.listed) != 1:
        text = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", versions.to_internal(), text)
    if names and names[0] and (wrong := dns_1035_label_errors(names[0])):
        yield invalid("spec.version", names[0], ",".join(wrong))


def _shared_errors(versions: Versions, demands: _SchemaChecks) -> Iterator[FieldError]:
    """Yield the errors of what all versions share."""
    shared = versions.shared
    schema = (shared.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        strictness = demands.of(versions.names[0])
        status = versions.any_has_status()
        yield from schema_errors(
            schema, "spec.validation.openAPIV3Schema", strictness, status=status
        )
    yield from scale_errors(shared.get("subresources"), "spec.subresources")
    for at, column in enumerate(shared.get("additionalPrinterColumns") or ()):
        yield from column_errors(column, f"spec.additionalPrinterColumns[{at}]")
    if fields := shared.get("selectableFields"):
        yield from selectable_errors(fields, schema, "spec.selectableFields", shared=True)


def _conversion_errors(conversion: Document, old: Document | None) -> Iterator[FieldError]:
    if conversion.get("strategy") == "None" and not conversion.get("webhook"):
        return
    from kapy.apiserver.resources.builtin.conversion_errors import (
        conversion_errors,
        has_bad_bundle,
        needs_known_version,
    )

    before = ((old or {}).get("spec") or {}).get("conversion") or {}
    any_bundle = old is None or not is_established(old) or has_bad_bundle(before)
    known_needed = old is None or needs_known_version(before)
    yield from conversion_errors(conversion, known_needed=known_needed, any_bundle=any_bundle)


def _group_errors(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif wrong := dns_subdomain_errors(group):
        yield invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _approval_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of the API approval annotation, required for groups of the Kubernetes
    project.
    """
    group = document["spec"].get("group", "")
    if not any(group == item or group.endswith(f".{item}") for item in _PROTECTED):
        return
    result = _annotation(document)
    state = _approval(result)
    if state in ("approved", "bypassed"):
        return
    if old is not None and _approval(_annotation(old)) == state:
        return
    path = f"metadata.annotations[{_APPROVAL}]"
    more = ", see https://github.com/kubernetes/enhancements/pull/1111"
    text = f'protected groups must have approval annotation "{_APPROVAL}"'
    if state == "missing":
        yield required(path, text + more)
    else:
        how = ' with either a URL or a reason starting with "unapproved"'
        yield invalid(path, result, text + how + more)


def _annotation(document: Document) -> str:
    return str((document["metadata"].get("annotations") or {}).get(_APPROVAL) or "")


def _approval(value: str) -> str:
    if not value:
        return "missing"
    if value.startswith("unapproved"):
        return "bypassed"
    try:
        parts = request_uri(value)
    except ValueError:
        return "invalid"
    return "approved" if parts.netloc and parts.scheme else "invalid"


def _stored_errors(spec: Document, status: Document) -> Iterator[FieldError]:
    """Yield an error if a version in status.storedVersions was removed."""
    stored_versions: list[str] = status.get("storedVersions") or []
    if not stored_versions:
        text = "must have at least one stored version"
        yield invalid("status.storedVersions", None, text)
        return
    versions = spec.get("versions") or ()
    names = [version.get("name", "") for version in versions]
    for name in (version.get("name", "") for version in versions if version.get("storage")):
        if name not in stored_versions:
            text = f"must have the storage version {name}"
            yield invalid("status.storedVersions", stored_versions, text)
    for stored, index in {item: index for index, item in enumerate(stored_versions)}.items():
        if stored not in names:
            yield invalid(
                f"status.storedVersions[{index}]",
                stored,
                f"missing from spec.versions; {stored} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {stored} and removes {stored} from status.storedVersions",
            )


def _change_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    fixed = ("scope", "names.kind") if is_established(old) else ()
    for path in (*fixed, "group", "names.plural"):
        new, before = _at(spec, path), _at(old["spec"], path)
        if new != before:
            yield invalid(f"spec.{path}", new, _IMMUTABLE)


def _at(spec: Document, path: str) -> Any:
    head, _, rest = path.partition(".")
    value = spec.get(head)
    return (value or {}).get(rest, "") if rest else value
