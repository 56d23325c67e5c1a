"""Recorded runs of `generate` and `convert`: exit code and output, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kapy.kube import yaml
from tests.oracle.commands import ran
from tests.oracle.topic import Record, compared

_FILE: Final = Path(__file__).resolve().parents[1] / "data" / "clusterctl" / "cluster-v1beta1.yaml"
"""The file that the recording calls `f.yaml`."""


def as_generated(record: Record) -> Iterator[str]:
    """Yield the differences of exit code and output; YAML is compared as objects first."""
    arguments = [str(_FILE) if arg == "f.yaml" else arg for arg in record["args"]]
    here = ran(record | {"args": arguments})
    if here.code != record["rc"]:
        yield f"rc: recorded {record['rc']}, given {here.code}: {here.errors.strip()}"
        return
    if record["rc"] == 0 and here.output != record["stdout"]:
        objects = list(compared(yaml.load_all(record["stdout"]), yaml.load_all(here.output)))
        yield from objects or ["the text is another, and the objects are the same"]
