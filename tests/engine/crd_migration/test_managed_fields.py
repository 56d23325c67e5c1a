"""The migration of managedFields: it removes entries of versions that are no longer served.

If no entry remains, a minimal one is left.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kapy.engine.crd_migration.controller import (
    MigrationFailed,
    is_required,
    remaining_entries,
    resource_of,
    served_versions,
    storage_version,
)
from kapy.kube import Document
from tests.engine.crd_migration.world import GROUP, KIND, OLD, T2, T3, crd

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
SERVED = {KIND.api_version}


def entry(manager: str, version: str, operation: str = "Apply") -> Document:
    fields: Document = {"f:spec": {"f:foo": {}}}
    own = {"manager": manager, "operation": operation, "apiVersion": f"{GROUP}/{version}"}
    return {**own, "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2025-01-01T00:00:00Z"}


def test_entries_of_served_versions_are_left_alone() -> None:
    entries = [entry("a", "v1beta2"), entry("b", "v1beta2", "Update")]
    assert remaining_entries(entries, SERVED, KIND.api_version, NOW) is None
    assert remaining_entries([], SERVED, KIND.api_version, NOW) is None


def test_entries_of_other_versions_are_removed() -> None:
    remaining, removals = entry("a", "v1beta2"), entry("b", "v1beta1")
    without: Document = {"manager": "c", "operation": "Update"}
    assert remaining_entries([removals, remaining, without], SERVED, KIND.api_version, NOW) == [
        remaining
    ]


@pytest.mark.parametrize("operation", ["Apply", "Update"])
def test_a_minimal_entry_remains_where_all_entries_are_removed(operation: str) -> None:
    entries = [entry("a", "v1beta1", operation), entry("b", "v1alpha4")]
    assert remaining_entries(entries, SERVED, KIND.api_version, NOW) == [
        {
            "manager": "a",
            "operation": operation,
            "apiVersion": KIND.api_version,
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:name": {}}},
        }
    ]


def test_storage_versions_of_a_crd_are_recorded() -> None:
    assert served_versions(crd(T2)) == {OLD.api_version, KIND.api_version}
    assert served_versions(crd(T3)) == {KIND.api_version}
    assert storage_version(crd(T2)) == "v1beta2"
    assert resource_of(crd(T2), "v1beta1") == OLD
    with pytest.raises(MigrationFailed, match=f"{KIND.group_resource} has no storage version"):
        storage_version(crd({"v1": "served"}))


@pytest.mark.parametrize(
    ("stored", "required"),
    [(["v2"], False), (["v1"], True), (["v1", "v2"], True), (["v2", "v1"], True), ([], True)],
)
def test_objects_are_rewritten_unless_one_version_alone_is_stored(
    stored: list[str], required: bool
) -> None:
    assert is_required({"status": {"storedVersions": stored}}, "v2") == required
