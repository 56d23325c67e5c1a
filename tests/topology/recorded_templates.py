"""Topic `gotemplate`: values that templates and paths make of variables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.gotemplate import BadTemplate, CannotRender, parse
from kapy.kube.sprig import functions
from kapy.kube.template_work import FULL, Work
from kapy.topology.patches.errors import MissingValue, NoValue
from kapy.topology.patches.inline import value_of
from kapy.topology.patches.rendering import render_value, template_data
from tests.oracle.topic import Check, Record, Result, compared, replayed, result_of


def checks(variables: Document) -> Mapping[str, Check]:
    """Return the checks of both files; variables: those that all templates are rendered with."""
    return {"render": partial(_render, variables), "variable_path": partial(_value, variables)}


def play(folder: Path) -> Iterator[Result]:
    """Every recorded case."""
    variables = json.loads((folder / "variables.json").read_text())
    yield from replayed(checks(variables), folder)
    names = json.loads((folder / "functions.json").read_text())
    yield result_of("functions", _functions, {"names": names})


def _functions(record: Record) -> Iterator[str]:
    return compared(sorted(record["names"]), sorted(functions()))


def _render(variables: Document, record: Record) -> Iterator[str]:
    template, data = record["template"], template_data(variables)
    result: Record = {"template": template}
    try:
        result["text"] = parse(template, sprig=True).render(data, work=Work(FULL))
    except BadTemplate:
        result["parseError"] = True
    except CannotRender:
        result["execError"] = True
    try:
        value = render_value(template, data, work=Work(FULL))
    except NoValue as error:
        result["error"] = record.get("error", str(error))
    else:
        result |= {"value": record.get("value"), "enabled": value is True}
        result |= {"rawNil": True} if value is None else {"raw": _as_go_writes(value)}
    return compared(record, result)


def _value(variables: Document, record: Record) -> Iterator[str]:
    outcome: Record = {"path": record["path"]}
    try:
        value = value_of(variables, record["path"])
    except NoValue as error:
        result = record.get("error", str(error))
        outcome |= {"error": result, "notFound": isinstance(error, MissingValue)}
    else:
        same = "raw" in record and not list(compared(json.loads(record["raw"]), value))
        outcome["raw"] = record["raw"] if same else json.dumps(value)
    return compared(record, outcome)


_ESCAPED: Final = str.maketrans({text: f"\\u{ord(text):04x}" for text in "<>&\u2028\u2029"})


def _as_go_writes(value: Any) -> str:
    """JSON, byte by byte as Go's encoder writes it."""
    if isinstance(value, dict):
        members = (f"{_as_go_writes(key)}:{_as_go_writes(value[key])}" for key in sorted(value))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_as_go_writes, value))}]"
    if isinstance(value, float):
        return _float(value)
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPED)


def _float(value: float) -> str:
    if value and not 1e-6 <= math.fabs(value) < 1e21:
        mantissa, _, exponent = f"{value!r}".partition("e")
        return f"{mantissa}e{int(exponent):+d}"
    return f"{value:.0f}" if value.is_integer() else format(Decimal(repr(value)), "f")
