"""Picks of failure domains with the fewest or the most machines (`util/failuredomains`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kapy.contract.failure_domains import pick_fewest, pick_most
from tests.oracle.topic import Check, Record


def _pick(record: Record) -> Iterator[str]:
    domains = record["failureDomains"]
    machines = [machine["failureDomain"] for machine in record["machines"]]
    eligible = [machine["failureDomain"] for machine in record["machines"] if machine["priority"]]
    fewest = pick_fewest(domains, machines, eligible)
    if fewest not in record["pickFewest_one_of"]:
        yield f"fewest: recorded one of {record['pickFewest_one_of']}, given {fewest!r}"
    most = pick_most(domains, machines, eligible)
    if most not in record["pickMost_one_of"]:
        yield f"most: recorded one of {record['pickMost_one_of']}, given {most!r}"


FILES: Final[Mapping[str, Check]] = {"pick": _pick}
