"""Tests of the columns that `kubectl get` shows for Kubernetes' built-in kinds (Tables)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kapy.apiserver.resources.registry import Registry
from kapy.apiserver.verbs.tables import cells, columns_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Machine", "name": "m"},
    "type": "Normal",
    "reason": "Made",
    "message": "a machine\n",
    "source": {"component": "core"},
    "firstTimestamp": "2026-01-01T11:00:00Z",
    "lastTimestamp": "2026-01-01T11:59:30Z",
    "count": 3,
}
NEW_EVENT = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "regarding": {"kind": "Machine", "name": "m"},
    "type": "Normal",
    "reason": "Made",
    "note": "a machine",
    "reportingController": "core",
    "reportingInstance": "here",
    "eventTime": "2026-01-01T11:00:00.000000Z",
    "series": {"count": 4, "lastObservedTime": "2026-01-01T11:58:00.000000Z"},
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "creationTimestamp": "2026-01-01T10:00:00Z"},
    "spec": {"completions": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
    "status": {
        "succeeded": 2,
        "startTime": "2026-01-01T11:00:00Z",
        "completionTime": "2026-01-01T11:00:20Z",
        "conditions": [{"type": "Complete", "status": "True"}],
    },
}
INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "i", "creationTimestamp": "2026-01-01T10:00:00Z"},
    "spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}], "tls": [{}]},
}
CRON = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "n", "creationTimestamp": "2026-01-01T10:00:00Z"},
    "spec": {"schedule": "* * * * *"},
    "status": {"lastScheduleTime": "2026-01-01T11:59:00Z", "active": [{}]},
}


@pytest.mark.parametrize(
    ("group", "plural", "document", "narrow"),
    [
        (
            *("", "events", EVENT),
            {"Last Seen": "30s", "Type": "Normal", "Reason": "Made", "Object": "machine/m"}
            | {"Message": "a machine"},
        ),
        (
            *("events.k8s.io", "events", NEW_EVENT),
            {"Last Seen": "2m", "Type": "Normal", "Reason": "Made", "Object": "machine/m"}
            | {"Message": "a machine"},
        ),
        (
            *("batch", "jobs", JOB),
            {"Name": "j", "Status": "Complete", "Completions": "2/2", "Duration": "20s"}
            | {"Age": "120m"},
        ),
        (
            *("batch", "cronjobs", CRON),
            {"Name": "n", "Schedule": "* * * * *", "Timezone": "<none>", "Suspend": "False"}
            | {"Active": 1, "Last Schedule": "60s", "Age": "120m"},
        ),
        (
            *("networking.k8s.io", "ingresses", INGRESS),
            {"Name": "i", "Class": "<none>", "Hosts": "a,b,c + 1 more...", "Address": ""}
            | {"Ports": "80, 443", "Age": "120m"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_table_row_has_the_columns_of_its_kind(
    group: str, plural: str, document: dict[str, Any], narrow: dict[str, Any]
) -> None:
    kind = Registry().find(group, "v1", plural)
    assert kind is not None
    columns = columns_of(kind)
    row = cells(kind, columns, document, NOW)
    assert len(row) == len(columns)
    result = zip(columns, row, strict=True)
    assert {column.name: cell for column, cell in result if not column.priority} == narrow
