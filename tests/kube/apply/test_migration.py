"""A server-side apply migrates the managedFields entries of client-side applies."""

from __future__ import annotations

from typing import Any

from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION, migrate_entries

APPLIED = {"f:metadata": {"f:annotations": {".": {}, f"f:{ANNOTATION}": {}}}, "f:data": {"f:a": {}}}


def entry(manager: str, operation: str, fields: Document, **more: Any) -> Document:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def test_an_updater_that_owns_the_annotation_becomes_the_applier() -> None:
    client = entry("kubectl-client-side-apply", "Update", APPLIED)
    other = entry("controller", "Update", {"f:data": {"f:b": {}}})
    assert migrate_entries([client, other], "kubectl") == [
        entry("kubectl", "Apply", APPLIED),
        other,
    ]


def test_migrated_fields_join_those_of_an_existing_applier() -> None:
    client = entry("old", "Update", APPLIED)
    applier = entry("argo", "Apply", {"f:data": {"f:c": {}}})
    (joined,) = migrate_entries([applier, client], "argo") or []
    assert joined["fieldsV1"] == {**APPLIED, "f:data": {"f:a": {}, "f:c": {}}}


def test_fields_of_another_version_are_let_go() -> None:
    client = entry("old", "Update", APPLIED, apiVersion="v1beta1")
    applier = entry("argo", "Apply", {"f:data": {"f:c": {}}})
    assert migrate_entries([applier, client], "argo") == [applier]


def test_nothing_is_migrated_without_a_client_side_apply() -> None:
    element = [
        entry("kubectl", "Apply", APPLIED),
        entry("edit", "Update", {"f:data": {"f:a": {}}}),
        entry("status", "Update", APPLIED, subresource="status"),
    ]
    assert migrate_entries(element, "kubectl") is None
