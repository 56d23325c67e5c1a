"""Values that Go templates make of variables: `valueFrom.template` and `enabledIf` of patches.

What a template makes is read as YAML (the first document, where there are several) and is what
Go's JSON would make of it: a number without a fraction is whole.
"""

from __future__ import annotations

import math
from typing import Any, Final

from kapy.kube import Document, yaml
from kapy.kube.gotemplate import BadTemplate, CannotRender, parsed
from kapy.topology.patches.errors import NoValue

_NAME: Final = "tpl"
_SMALLEST: Final = -(1 << 63)
_TOO_LARGE: Final = 1 << 64


def rendered_value(template: str, data: Document) -> Any:
    """The value that a template makes; data: as `template_data` gives it. It is shared, and not to
    be changed. Raises NoValue."""
    try:
        text = parsed(template, name=_NAME, sprig=True).rendered(data)
    except (BadTemplate, CannotRender) as error:
        raise NoValue(f'template "{template}" cannot be rendered: {error}') from None
    try:
        return _read(text)
    except (yaml.YamlError, ValueError) as error:
        problem = f'template "{template}" does not give YAML, but "{text}": {error}'
        raise NoValue(problem) from None


def template_data(value: Any) -> Any:
    """Variables as templates see them: every number is a float, as Go reads JSON."""
    if isinstance(value, dict):
        return {key: template_data(one) for key, one in value.items()}
    if isinstance(value, list):
        return [template_data(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _read(text: str) -> Any:
    return _as_json(yaml.load_first(text))


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return _number(value)


def _number(value: float) -> float | int:
    if isinstance(value, int):
        return value if _SMALLEST <= value < _TOO_LARGE else float(value)
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number {value}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value
