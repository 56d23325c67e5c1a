"""Validation of label selectors in objects, with kube-apiserver's messages."""

from __future__ import annotations

from collections.abc import Iterator

from kapy.apiserver.resources.metadata import label_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors


def selector_errors(selector: Document, path: str, *, values: bool = True) -> Iterator[FieldError]:
    """Yield the errors of a `metav1.LabelSelector` at `path`.

    values: also validate the values of expressions.
    """
    yield from label_errors(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, listed = expression.get("operator") or "", expression.get("values") or []
        if operator in ("In", "NotIn"):
            if not listed:
                why = "must be specified when `operator` is 'In' or 'NotIn'"
                yield required(f"{where}.values", why)
        elif operator in ("Exists", "DoesNotExist"):
            if listed:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden(f"{where}.values", why)
        else:
            yield invalid(f"{where}.operator", operator, "not a valid selector operator")
        key = expression.get("key") or ""
        for text in qualified_name_errors(key):
            yield invalid(f"{where}.key", key, text)
        for at, value in enumerate(listed if values else ()):
            for text in label_value_errors(value):
                yield invalid(f"{where}.values[{at}]", value, text)
