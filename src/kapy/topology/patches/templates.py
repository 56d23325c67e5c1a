"""Values from Go templates: `valueFrom.template` and `enabledIf` of patches.

The rendered text is read as YAML (the first document, if there are several) and converted as Go's
JSON would: a number without a fraction is an integer.
"""

from __future__ import annotations

import math
from typing import Any, Final

from kapy.kube import Document, yaml
from kapy.kube.gotemplate import BadTemplate, CannotRender, WorkExceeded, parse
from kapy.kube.json_numbers import map_numbers, to_double
from kapy.kube.template_work import QUICK, TooLong, Work
from kapy.topology.patches.errors import NoValue

_NAME: Final = "tpl"
_SMALLEST: Final = -(1 << 63)
_TOO_LARGE: Final = 1 << 64


def render_value(template: str, data: Document, *, work: Work | None = None) -> Any:
    """Return the value of a template. data: the variables in the form of `template_data`.

    work: the limit of work; by default the event loop's limit. Reading the YAML counts. Raises
    WorkExceeded if `work` is used up, and NoValue, which does not quote the rendered text because
    variables may be secrets.
    """
    work = work or Work(QUICK)
    try:
        text = parse(template, name=_NAME, sprig=True).render(data, work=work)
        work.charge(len(text))
    except TooLong as error:
        raise WorkExceeded(str(error)) from None
    except WorkExceeded:
        raise
    except (BadTemplate, CannotRender) as error:
        raise NoValue(f'template "{template}" cannot be rendered: {error}') from None
    try:
        return map_numbers(yaml.load_first(text), _number)
    except (yaml.YamlError, ValueError) as error:
        raise NoValue(f'what template "{template}" makes is no YAML: {error}') from None


def template_data(variables: Document) -> Document:
    """Variables as templates see them: every number is a float, as in Go's JSON."""
    numbers: Document = map_numbers(variables, float)
    return numbers


def _number(value: float) -> float:
    if isinstance(value, int):
        return value if _SMALLEST <= value < _TOO_LARGE else to_double(value)
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number {value}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value
