"""Validation of tolerations of taints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.qualified_names import label_value_errors, qualified_name_errors

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")


def toleration_errors(tolerations: Sequence[Document], path: str) -> Iterator[FieldError]:
    """Yield the errors of tolerations."""
    for index, toleration in enumerate(tolerations):
        yield from _errors(toleration, f"{path}[{index}]")


def _errors(item: Document, path: str) -> Iterator[FieldError]:
    key, operator = item.get("key") or "", item.get("operator") or ""
    value, effect = item.get("value") or "", item.get("effect") or ""
    if key:
        yield from (invalid(f"{path}.key", key, text) for text in qualified_name_errors(key))
    elif operator != "Exists":
        text = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        yield invalid(f"{path}.operator", operator, text)
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        if wrong := label_value_errors(value):
            yield invalid(f"{path}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", value, text)
    else:
        names = (*_OPERATORS, *_COMPARISONS) if operator in _COMPARISONS else _OPERATORS
        supported = ", ".join(f'"{name}"' for name in names)
        text = f"supported values: {supported}"
        yield FieldError("FieldValueNotSupported", f"{path}.operator", text, operator)
    if effect and effect not in _EFFECTS:
        supported = ", ".join(f'"{name}"' for name in _EFFECTS)
        text = f"supported values: {supported}"
        yield FieldError("FieldValueNotSupported", f"{path}.effect", text, effect)
