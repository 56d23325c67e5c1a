"""The audit log of a plane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.audit.policy import InvalidPolicy
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import AuditLog, Settings
from kapy.kube.names import CONFIG_MAPS


async def test_a_plane_logs_all_requests_until_its_end(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    settings = Settings(audit=AuditLog(path=str(path)))
    async with management_plane(settings, clock=loop_clock()) as plane:
        note = {"metadata": {"name": "last", "namespace": "default"}, "data": {"a": "hidden"}}
        document = {"apiVersion": "v1", "kind": "ConfigMap", **note}
        await plane.client.create(CONFIG_MAPS, document)
    text = path.read_text()
    events = [json.loads(line) for line in text.splitlines()]
    entries = [event for event in events if event.get("objectRef", {}).get("name") == "last"]
    assert [(item["verb"], item["user"]["username"]) for item in entries] == [
        ("create", "kubernetes-admin")
    ]
    assert {event["user"]["username"] for event in events} >= {
        "system:serviceaccount:kapy-system:kapy"
    }
    assert {event["level"] for event in events} == {"Metadata"}
    assert "hidden" not in text
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_plane_does_not_start_with_a_bad_policy(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n")
    settings = Settings(audit=AuditLog(path=str(tmp_path / "audit.log"), policy=policy))
    with pytest.raises(
        InvalidPolicy, match=r"policy\.yaml cannot be used: rules\[0\]\.level 'All'"
    ):
        async with management_plane(settings, clock=loop_clock()):
            pass
