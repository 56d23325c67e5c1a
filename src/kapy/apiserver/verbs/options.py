"""Options of a write: dry run, field manager, field validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from kapy.apiserver.errors import invalid_parameters
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.parameters import dry_run_error, dry_run_values
from kapy.apiserver.resources.structs import MOST_UNKNOWN
from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.field_errors import FieldError, invalid, not_supported

_MANAGER_LIMIT = 128
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_LEVELS = ("Ignore", "Strict", "Warn")


class FieldValidation(Struct):
    """The fieldValidation of a write.

    duplicates: paths of duplicate fields; None if they are not collected.
    """

    level: str
    duplicates: list[str] | None = None

    def report(
        self,
        context: RequestContext,
        unknown: list[str],
        patched: Callable[[str], ApiError] | None = None,
    ) -> None:
        """Warn about unknown and duplicate fields, or refuse them. Raises BadRequest, Invalid.

        patched: builds the error if the object comes from a patch.
        """
        if self.level == "Ignore":
            return
        repeated = [_duplicate_message(duplicate) for duplicate in self.duplicates or ()]
        sentences = [*repeated, *(f'unknown field "{path}"' for path in unknown)]
        if not context.kind.custom:
            sentences = sentences[:MOST_UNKNOWN]
        if not sentences:
            return
        if self.level == "Strict":
            if any(item.startswith("line ") for item in repeated):
                sentences[0] = f"yaml: unmarshal errors:\n  {sentences[0]}"
            if patched is not None:
                raise patched(f"strict decoding error: {', '.join(sentences)}")
            resource = context.kind.resource
            raise BadRequest(
                f'{resource.kind} in version "{resource.version}" cannot be handled as a '
                f"{resource.kind}: strict decoding error: {', '.join(sentences)}"
            )
        context.warnings.extend(sentences)


def _duplicate_message(what: str) -> str:
    """Return the message about a duplicate field; some entries are complete messages already."""
    own = what.startswith(("line ", "json patch "))
    return what if own else f'duplicate field "{what}"'


def parse_write_options(
    context: RequestContext, options: str, errors: Sequence[FieldError] = ()
) -> tuple[bool, FieldValidation]:
    """Return whether the write is a dry run, and its field validation (by default Warn).

    options: the kind of options that an error names. errors: errors found earlier, reported
    together with the new ones. Raises Invalid.
    """
    query = context.request.query
    if not query and not errors:
        return False, FieldValidation("Warn", [])
    result = [*errors, *_manager_errors(query.get("fieldManager", ""))]
    values = dry_run_values(query)
    if values and (error := dry_run_error(values)) is not None:
        result.append(error)
    level = query.get("fieldValidation") or "Warn"
    if level not in _LEVELS:
        result.append(not_supported("fieldValidation", level, ["", *_LEVELS]))
    if result:
        raise invalid_parameters(options, result)
    return bool(values), FieldValidation(level, None if level == "Ignore" else [])


def webhook_options(context: RequestContext, operation: str, *, dry_run: bool) -> Document:
    """Return the options of a write as they are sent to admission webhooks.

    A patch is sent with UpdateOptions.
    """
    result: Document = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
    if dry_run:
        result["dryRun"] = ["All"]
    for name in ("fieldManager", "fieldValidation"):
        if context.request.query.get(name):
            result[name] = context.request.query[name]
    return result


def _manager_errors(name: str) -> list[FieldError]:
    """Check that a field manager has at most 128 bytes, all of them printable."""
    if name.isprintable() and name.isascii() and len(name) <= _MANAGER_LIMIT:
        return []
    errors: list[FieldError] = []
    if len(name.encode()) > _MANAGER_LIMIT:
        errors.append(
            FieldError(
                "FieldValueTooLong", "fieldManager", f"may not be more than {_MANAGER_LIMIT} bytes"
            )
        )
    at = 0
    for character in name:
        if not character.isprintable():
            where = f"invalid character U+{ord(character):04X} (at position {at})"
            errors.append(invalid("fieldManager", name, where))
        at += len(character.encode())
    return errors
