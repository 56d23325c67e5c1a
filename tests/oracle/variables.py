"""Topic `variables`: definitions of variables, and values of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kapy.api.cluster_class_variables import (
    ClusterClassStatusVariable,
    ClusterClassVariable,
    JSONSchemaProps,
)
from kapy.api.embedded import ClusterVariable
from kapy.api.validation.cluster_class_variables import variable_errors
from kapy.kube.field_errors import FieldError
from kapy.kube.go_literals import fit_integers
from kapy.kube.model import decode, encode
from kapy.kube.schema.rules import ABSENT
from kapy.topology.variables import default_variables, value_errors, variable_value_errors
from tests.oracle.topic import Check, Record, Result, compared, replayed

_QUOTED: Final = ("compilation failed", "regular expression", "no such overload", "no such key")


def _values(items: Any) -> list[ClusterVariable]:
    return [decode({"name": "", "value": None, **item}, ClusterVariable) for item in items or ()]


def _definitions(definitions: Any) -> list[ClusterClassStatusVariable]:
    return [
        decode(
            {
                **item,
                "definitions": [
                    {"from": "", "required": False, **definition}
                    for definition in item.get("definitions") or ()
                ],
            },
            ClusterClassStatusVariable,
        )
        for item in definitions or ()
    ]


def _default(record: Record) -> Iterator[str]:
    values, errors = default_variables(
        _values(record.get("values")),
        _definitions(record.get("definitions")),
        record["path"],
        create=record["createVariables"],
    )
    yield from _compared_errors(record, errors)
    if not record["errors"]:
        out = [{"value": None, **item} for item in record.get("out") or ()]
        results = [{"value": None, **encode(variable)} for variable in values]
        yield from compared(fit_integers(out), fit_integers(results))


def _validate(record: Record) -> Iterator[str]:
    errors = variable_value_errors(
        _values(record.get("values")),
        _values(record.get("oldValues")),
        _definitions(record.get("definitions")),
        record["path"],
        complete=record["validateRequired"],
    )
    return _compared_errors(record, errors)


def _validate_one(record: Record) -> Iterator[str]:
    (value,) = _values([record["value"]])
    old = record.get("oldValue")
    was = ABSENT if old is None else old.get("value")
    schema = decode(record["definition"]["schema"]["openAPIV3Schema"], JSONSchemaProps)
    return _compared_errors(record, value_errors(value, was, schema, record["path"]))


def _validate_definitions(record: Record) -> Iterator[str]:
    nothing = {"name": "", "required": False, "schema": {"openAPIV3Schema": {}}}
    variables = [
        decode({**nothing, **variable}, ClusterClassVariable)
        for variable in record.get("variables") or ()
    ]
    return _compared_errors(record, variable_errors(variables, record["path"]))


def _compared_errors(record: Record, errors: Iterable[FieldError]) -> Iterator[str]:
    recorded = [
        (error["type"], error["field"], _words(error["detail"])) for error in record["errors"]
    ]
    errors_here = [(error.type, error.field, _words(error.detail)) for error in errors]
    return compared(
        [list(entry) for entry in sorted(recorded)], [list(entry) for entry in sorted(errors_here)]
    )


def _words(detail: str) -> str:
    """Return the comparable part of a message, without words of a CEL compiler or Go's regexp."""
    return next((item for item in _QUOTED if item in detail), detail)


FILES: Final[Mapping[str, Check]] = {
    "default_variables": _default,
    "validate_class_variables": _validate_definitions,
    "validate_variable": _validate_one,
    "validate_variables": _validate,
}


def play(folder: Path) -> Iterator[Result]:
    """Every recorded case."""
    return replayed(FILES, folder)
