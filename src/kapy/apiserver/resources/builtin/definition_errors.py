"""What is wrong with a CustomResourceDefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapy.apiserver.resources.builtin.definition_schemas import problems
from kapy.apiserver.resources.builtin.definition_versions import part_errors, shown_versions
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, invalid, required
from kapy.kube.qualified_names import dns_subdomain_errors

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_SENTENCE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_PROTECTED = ("k8s.io", "kubernetes.io")
_APPROVAL = "api-approved.kubernetes.io"
_IMMUTABLE = "field is immutable"
_PRESERVE = "preserveUnknownFields"
_PRESERVE_SENTENCE = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)


def definition_errors(document: Document, old: Document | None) -> list[FieldError]:
    """The errors of a definition (and with `old` of the change), in kube-apiserver's words."""
    spec, names = document["spec"], document["spec"].get("names") or {}
    found: list[FieldError] = FieldErrors()
    name = document["metadata"].get("name", "")
    if old is None and name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        found.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    found += _group_errors(document)
    found += _name_errors(names)
    found += _scope_errors(spec)
    found += _conversion_errors(spec.get("conversion") or {})
    found += _version_errors(spec)
    found += part_errors(spec.get("versions") or ())
    if spec.get(_PRESERVE) and (old is None or not old["spec"].get(_PRESERVE)):
        found.append(invalid(f"spec.{_PRESERVE}", spec[_PRESERVE], _PRESERVE_SENTENCE))
    if old is None or spec.get("versions") != old["spec"].get("versions"):
        found += _stored_errors(spec, document.get("status") or {})
    found += _schema_errors(spec, old["spec"] if old is not None else {})
    if old is not None:
        found += _change_errors(document, old)
    return found


def _schema_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    """Of the versions' schemas; one that was there before is let be."""
    schemas = [_schema(version) for version in spec.get("versions") or ()]
    before = [_schema(version) for version in old.get("versions") or ()]
    if schemas and all(one == schemas[0] for one in schemas):
        paths = ["spec.validation.openAPIV3Schema"]
    else:
        paths = [f"spec.versions[{index}].schema.openAPIV3Schema" for index in range(len(schemas))]
    for schema, path in zip(schemas, paths, strict=False):
        if schema is not None and schema not in before:
            yield from problems(schema, path)


def _conversion_errors(conversion: Document) -> list[FieldError]:
    if conversion.get("strategy") == "None" and not conversion.get("webhook"):
        return []
    from kapy.apiserver.webhooks.validation import conversion_errors

    return conversion_errors(conversion)


def _schema(version: Document) -> Document | None:
    schema: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _group_errors(document: Document) -> Iterator[FieldError]:
    group = document["spec"].get("group", "")
    if not group:
        yield required("spec.group")
        return
    for text in dns_subdomain_errors(group):
        yield invalid("spec.group", group, text)
    if "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    guarded = any(group == one or group.endswith(f".{one}") for one in _PROTECTED)
    if guarded and not (document["metadata"].get("annotations") or {}).get(_APPROVAL):
        yield required(
            f"metadata.annotations[{_APPROVAL}]",
            f'protected groups must have approval annotation "{_APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111",
        )


def _name_errors(names: Document) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field, "")
        path = f"spec.names.{field}"
        if not value:
            yield required(path)
        elif not _LABEL.fullmatch(value.lower() if "ind" in field else value):
            text = _LABEL_SENTENCE
            if "ind" in field:
                text = f"may have mixed case, but should otherwise match: {text}"
            yield invalid(path, value, text)
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            if not _LABEL.fullmatch(value):
                yield invalid(f"spec.names.{field}[{index}]", value, _LABEL_SENTENCE)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        text = "kind and listKind may not be the same"
        yield invalid("spec.names.listKind", names["listKind"], text)


def _scope_errors(spec: Document) -> Iterator[FieldError]:
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        text = 'supported values: "Cluster", "Namespaced"'
        yield FieldError("FieldValueNotSupported", "spec.scope", text, scope)


def _version_errors(spec: Document) -> Iterator[FieldError]:
    versions = spec.get("versions") or []
    names = [one.get("name", "") for one in versions]
    if names and not _LABEL.fullmatch(names[0]):
        yield invalid("spec.version", names[0], _LABEL_SENTENCE)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if not _LABEL.fullmatch(version.get("name", "")):
            yield invalid(f"{path}.name", version.get("name", ""), _LABEL_SENTENCE)
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"{path}.schema.openAPIV3Schema")
    storing = [one["name"] for one in versions if one.get("storage")]
    if len(storing) != 1:
        text = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", shown_versions(versions), text)
    if len(set(names)) != len(names):
        text = "must contain unique version names"
        yield invalid("spec.versions", shown_versions(versions), text)


def _stored_errors(spec: Document, status: Document) -> Iterator[FieldError]:
    """A version that objects may be stored in stays."""
    versions, known = spec.get("versions") or (), status.get("storedVersions") or []
    if not known:
        text = "must have at least one stored version"
        yield invalid("status.storedVersions", None, text)
    names = [one.get("name", "") for one in versions]
    for name in (one.get("name", "") for one in versions if known and one.get("storage")):
        if name not in known:
            text = f"must have the storage version {name}"
            yield invalid("status.storedVersions", known, text)
    for index, stored in enumerate(known):
        if stored not in names:
            yield invalid(
                f"status.storedVersions[{index}]",
                stored,
                f"missing from spec.versions; {stored} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {stored} and removes {stored} from status.storedVersions",
            )


def _change_errors(document: Document, old: Document) -> Iterator[FieldError]:
    for path in ("scope", "group", "names.plural", "names.kind"):
        new, before = _at(document["spec"], path), _at(old["spec"], path)
        if new != before:
            yield invalid(f"spec.{path}", new, _IMMUTABLE)


def _at(spec: Document, path: str) -> object:
    head, _, rest = path.partition(".")
    value = spec.get(head)
    return (value or {}).get(rest) if rest else value
