"""Upstream's defaulting and validation (oracle topic `admission-unit`) replayed on ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kapy.api.defaults import CannotDefault, default
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.kinds import KINDS
from kapy.api.validation import validate
from kapy.kube import Document
from tests.oracle.topic import Check, Record, compared

KIND_OF: Final = {kind.name: kind.type_of() for kind in KINDS}

GATES: Final[tuple[FeatureGates, ...]] = (
    DEFAULT_GATES,
    replace(DEFAULT_GATES, kubeadm_bootstrap_format_ignition=True),
    replace(DEFAULT_GATES, machine_taint_propagation=True),
    replace(DEFAULT_GATES, cluster_topology=True),
    replace(DEFAULT_GATES, runtime_sdk=True),
)
"""Upstream's tests opened gates that the records do not name: one of these must fit."""


def check(record: Record) -> Iterable[str]:
    kind = KIND_OF[record["kind"]]
    new = named(record["object"], kind.RESOURCE.api_version, record["kind"])
    old = record.get("oldObject")
    if old is not None:
        old = named(old, kind.RESOURCE.api_version, record["kind"])
    if record["op"] == "default":
        return check_default(record, new, old)
    answers = [given_causes(new, old, gates) for gates in GATES]
    expected = causes(record)
    if expected in answers:
        return ()
    return compared(expected, answers[0])


def check_default(record: Record, new: Document, old: Document | None) -> Iterable[str]:
    request = record.get("request") or {}
    try:
        result = default(new, old, dry_run=bool(request.get("dryRun")))
    except CannotDefault as error:
        return compared(record.get("error"), str(error))
    result = {key: value for key, value in result.items() if key not in ("apiVersion", "kind")}
    return compared(record.get("out") or record.get("error"), result)


def causes(record: Record) -> list[tuple[str, str]]:
    status = record.get("status")
    if status is None:
        # A lone field error, which upstream's webhook returned as it was.
        error = record.get("error")
        return [] if error is None else [("FieldValueForbidden", error.partition(":")[0])]
    return sorted(
        (cause["reason"], cause["field"]) for cause in status["details"].get("causes") or []
    )


def given_causes(new: Document, old: Document | None, gates: FeatureGates) -> list[tuple[str, str]]:
    return sorted((error.type, error.field) for error in validate(new, old, gates=gates))


def named(document: Document, api_version: str, kind: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, **document}


FILES: Final[Mapping[str, Check]] = dict.fromkeys(KIND_OF, check)
