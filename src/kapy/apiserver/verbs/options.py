"""Options of a write: field validation."""

from __future__ import annotations

from dataclasses import dataclass, field

from kapy.apiserver.ask import Ask
from kapy.apiserver.refusals import invalid_options
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.field_errors import FieldError
from kapy.kube.go_quoted import go_quoted

_MANAGER_LIMIT = 128
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_LEVELS = ("Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Validation:
    """How unknown and duplicate fields are treated. duplicates: None when nobody asks."""

    level: str
    duplicates: list[str] | None = field(default=None)

    def report(self, ask: Ask, unknown: list[str]) -> None:
        """Warn about what was found, or refuse it. Raises BadRequest."""
        if self.level == "Ignore":
            return
        repeated = [_repeated(one) for one in self.duplicates or ()]
        sentences = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
        if not sentences:
            return
        if self.level == "Strict":
            if any(one.startswith("line ") for one in repeated):
                sentences[0] = f"yaml: unmarshal errors:\n  {sentences[0]}"
            resource = ask.kind.resource
            raise BadRequest(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a '
                f"{resource.kind}: strict decoding error: {', '.join(sentences)}"
            )
        ask.warnings.extend(sentences)


def _repeated(what: str) -> str:
    """The sentence about a field that stands twice; YAML's parser brings its own."""
    return what if what.startswith("line ") else f'duplicate field "{what}"'


def field_validation(ask: Ask, options: str) -> Validation:
    """What the request asks for (`fieldValidation`, default Warn). Raises Invalid."""
    level = ask.request.query.get("fieldValidation") or "Warn"
    if level not in _LEVELS:
        supported = ", ".join(f'"{one}"' for one in ("", *_LEVELS))
        error = FieldError(
            "FieldValueNotSupported", "fieldValidation", f"supported values: {supported}", level
        )
        raise invalid_options(options, [error])
    return Validation(level, None if level == "Ignore" else [])


def options_of(ask: Ask, operation: str, *, dry_run: bool) -> Document:
    """The options of a write as admission is told them; a patch is an update there."""
    found: Document = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
    if dry_run:
        found["dryRun"] = ["All"]
    for name in ("fieldManager", "fieldValidation"):
        if ask.request.query.get(name):
            found[name] = ask.request.query[name]
    return found


def check_manager(ask: Ask, options: str) -> None:
    """A field manager has a printable name of at most 128 bytes. Raises Invalid."""
    name = ask.request.query.get("fieldManager", "")
    errors: list[FieldError] = []
    if len(name) > _MANAGER_LIMIT:
        errors.append(
            FieldError(
                "FieldValueTooLong", "fieldManager", f"may not be more than {_MANAGER_LIMIT} bytes"
            )
        )
    wrong = next((at for at, character in enumerate(name) if not character.isprintable()), None)
    if wrong is not None:
        where = f"invalid character U+{ord(name[wrong]):04X} (at position {wrong})"
        errors.append(
            FieldError("FieldValueInvalid", "fieldManager", f"{go_quoted(name)}: {where}")
        )
    if errors:
        raise invalid_options(options, errors)
