"""Recorded runs with bad input: exit code, output, and what the error says.

Ours says what upstream's does, and may go on with the way out; where the words are others, `SAYS`
has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kapy.kube import yaml
from tests.oracle.commands import Run, ran
from tests.oracle.topic import Record, compared

_NO_KUBECONFIG: Final = "there is no kubeconfig at ${HOME}/.kube/config; `kapy up` runs"
SAYS: Final[Mapping[str, str]] = {
    "flags cannot be placed before plugin name: --config": 'unknown command "foo"',
    "clusterctl requires either a valid kubeconfig or in cluster config": _NO_KUBECONFIG,
    'failed to get context "" from ["${HOME}/.kube/config"]': _NO_KUBECONFIG,
    "failed to load Kubeconfig: stat missing.kubeconfig": "no kubeconfig at missing.kubeconfig",
    "parse error": "a whole number is expected",
    "yaml: line 1:": "${HOME}/clusterctl.yaml: line 2: did not find expected node content",
    "Invalid resource type machineset.": 'invalid resource type "machineset", valid values are [',
    "decoding failed due to the following error": "providers must be a list of maps with name",
}
"""kapy's messages, by a part of the upstream message for the same mistake."""


def as_recorded(record: Record) -> Iterator[str]:
    """Yield the differences of a run from the recorded one."""
    here = ran(record)
    if here.code != record["rc"]:
        yield f"rc: recorded {record['rc']}, given {here.code}: {here.errors.strip()}"
        return
    yield from _output(record["stdout"], here)
    yield from said(record["stderr"].strip(), here.errors.strip())


def _output(recorded: str, here: Run) -> Iterator[str]:
    if recorded == "${HELP}":
        if not here.output.startswith("Usage: kapy "):
            yield f"stdout: recorded is the help, given {here.output!r}"
        return
    yield from compared(yaml.load_all(recorded), yaml.load_all(here.output), "stdout")


def said(recorded: str, message: str) -> Iterator[str]:
    """Yield the difference of an error message from the expected one."""
    wanted = next((ours for theirs, ours in SAYS.items() if theirs in recorded), recorded)
    if wanted.rstrip(".") not in message or bool(recorded) != bool(message):
        yield f"stderr: recorded {recorded!r}, given {message!r}"
