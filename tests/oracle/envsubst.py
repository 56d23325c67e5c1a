"""Topic `envsubst`: variables in text, and what files of templates are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.provider import cluster_class, cluster_template
from kapy.clusterctl.variables import MissingVariables, replace_variables, variables_of
from tests.oracle.topic import Check, Record, compared


def _shown(text: str) -> str:
    """As Go writes text in JSON: a byte that is no part of a character has a sign of its own."""
    return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)


def _process(record: Record) -> Iterator[str]:
    if "panic" not in record:
        yield from _variables(record)
    try:
        out = replace_variables(record["template"], record["vars"])
    except MissingVariables as error:
        yield from compared(record.get("error"), str(error))
    except BadSubstitution as error:
        refused = "error" in record or "panic" in record
        yield from compared(True, refused, f"refused ({error})")
    else:
        yield from compared(record.get("out"), _shown(out), "out")


def _variables(record: Record) -> Iterator[str]:
    try:
        variables = variables_of(record["template"])
    except BadSubstitution as error:
        yield from compared(True, "variables_error" in record, f"variables refused ({error})")
        return
    yield from compared(record.get("variables"), list(variables), "variables")
    yield from compared(record.get("variable_map"), variables, "variable_map")


def _names(record: Record) -> Iterator[str]:
    yield from compared(record["cluster_template"], cluster_template(record["flavor"]))
    yield from compared(record["cluster_class"], cluster_class(record["flavor"]))


FILES: Final[Mapping[str, Check]] = {"process": _process, "files": _process, "names": _names}
