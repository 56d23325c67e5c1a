"""Kubernetes' format library: named formats that validate strings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kapy.kube import qualified_names
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import NONE, Format, Optional, some
from kapy.kube.schema.formats import format_of


def _prefix(check: Callable[[str], list[str]], text: str) -> list[str]:
    """Validate a text as the prefix of a name, by `check`. A trailing dash is allowed."""
    return check(text[:-1] + "a" if text.endswith("-") else text)


def _format_errors(name: str, sentence: str, text: str) -> list[str]:
    check = format_of(name)
    return [] if check is not None and check(text) else [sentence]


_CHECKS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": qualified_names.dns_label_errors,
    "dns1123Subdomain": qualified_names.dns_subdomain_errors,
    "dns1035Label": qualified_names.dns_1035_label_errors,
    "dns1123LabelPrefix": partial(_prefix, qualified_names.dns_label_errors),
    "dns1123SubdomainPrefix": partial(_prefix, qualified_names.dns_subdomain_errors),
    "dns1035LabelPrefix": partial(_prefix, qualified_names.dns_1035_label_errors),
    "qualifiedName": qualified_names.qualified_name_errors,
    "labelValue": qualified_names.label_value_errors,
    "uri": partial(_format_errors, "uri", "invalid URI"),
    "uuid": partial(_format_errors, "uuid", "does not match the UUID format"),
    "byte": partial(_format_errors, "byte", "invalid base64"),
    "date": partial(_format_errors, "date", "invalid date"),
    "datetime": partial(_format_errors, "datetime", "invalid datetime"),
}
_FORMATS: Final = {name: Format(name, check) for name, check in _CHECKS.items()}
_KIND: Final = "kubernetes.NamedFormat"


def _format_named(name: str) -> Optional:
    result = _FORMATS.get(name)
    return some(result) if result is not None else NONE


def _validate(form: Format, text: str) -> Optional:
    problems = form.problems(text)
    return some(problems) if problems else NONE


def _constant_format(form: Format) -> Function:
    return lambda: form


FUNCTIONS: Final[dict[str, Function]] = {
    f"format.named(string) -> optional<{_KIND}>": _format_named,
    f"{_KIND} :: validate(string) -> optional<list<string>>": _validate,
    **{f"format.{name}() -> {_KIND}": _constant_format(form) for name, form in _FORMATS.items()},
}
