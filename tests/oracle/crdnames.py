"""CRD names from group and kind (`util/contract.CalculateCRDName`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kapy.contract.resolve import crd_name
from tests.oracle.topic import Check, Record, compared


def _name(record: Record) -> Iterator[str]:
    return compared(record["crd"], crd_name(record["group"], record["kind"]))


FILES: Final[Mapping[str, Check]] = {"crdnames": _name}
