"""Values that Go templates make of variables: `valueFrom.template` and `enabledIf` of patches.

What a template makes is read as YAML (the first document, where there are several) and is what
Go's JSON would make of it: a number without a fraction is whole.
"""

from __future__ import annotations

import math
from typing import Any, Final

from kapy.kube import Document, yaml
from kapy.kube.gotemplate import BadTemplate, CannotRender, Overrun, parsed
from kapy.kube.json_numbers import double, mapped
from kapy.kube.template_work import QUICK, TooLong, Work
from kapy.topology.patches.errors import NoValue

_NAME: Final = "tpl"
_SMALLEST: Final = -(1 << 63)
_TOO_LARGE: Final = 1 << 64


def rendered_value(template: str, data: Document, *, work: Work | None = None) -> Any:
    """The value that a template makes; data: as `template_data` gives it.

    work: what it may do; without it, what may be done on the event loop. Reading the YAML counts.
    Raises NoValue, which does not quote what the template made: variables may be secrets; Overrun
    where `work` is used up.
    """
    work = work or Work(QUICK)
    try:
        text = parsed(template, name=_NAME, sprig=True).rendered(data, work=work)
        work.charge(len(text))
    except TooLong as error:
        raise Overrun(str(error)) from None
    except Overrun:
        raise
    except (BadTemplate, CannotRender) as error:
        raise NoValue(f'template "{template}" cannot be rendered: {error}') from None
    try:
        return mapped(yaml.load_first(text), _number)
    except (yaml.YamlError, ValueError) as error:
        raise NoValue(f'what template "{template}" makes is no YAML: {error}') from None


def template_data(variables: Document) -> Document:
    """Variables as templates see them: every number is a float, as Go reads JSON."""
    found: Document = mapped(variables, float)
    return found


def _number(value: float) -> float:
    if isinstance(value, int):
        return value if _SMALLEST <= value < _TOO_LARGE else double(value)
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number {value}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value
