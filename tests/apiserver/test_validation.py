"""Tests of the validation of CRDs and of built-in kinds, and of the deletion of Pods."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.resources.builtin.defaults import DEFAULTS
from kapy.apiserver.resources.builtin.node_errors import node_errors
from kapy.apiserver.resources.builtin.workload_errors import workload_errors
from kapy.kube import Document
from tests.apiserver.requester import CRDS, GIZMO, running

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"type": "ExternalName", "externalName": "x.dev"}, None),
        ({"type": "ExternalName"}, ["spec.externalName"]),
        ({"type": "ClusterIP"}, ["spec.ports"]),
        ({"type": "ClusterIP", "clusterIP": "None"}, None),
        ({"ports": [{"name": "a", "port": 1, "targetPort": "a--b"}]}, ["spec.ports[0].targetPort"]),
        ({"ports": [{"name": n, "port": 1, "targetPort": 1} for n in "ab"]}, ["spec.ports[1]"]),
    ],
)
async def test_invalid_services_are_refused(spec: Document, fields: list[str] | None) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
    async with running() as me:
        status, body = await me.ask("POST", "/api/v1/namespaces/default/services", service)
    if fields is None:
        assert status == 201
    else:
        assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (422, fields)


def test_nodes_keep_provider_id_and_pod_network() -> None:
    old = {"spec": {"providerID": "x://1", "podCIDRs": ["10.1.0.0/24"]}}
    assert not list(node_errors(old, {"spec": {}}))
    assert [error.field for error in node_errors({"spec": {}}, old)] == [
        "spec.podCIDRs",
        "spec.providerID",
    ]


def test_a_selector_stays_and_selects_its_template() -> None:
    def workload(label: str) -> Document:
        template = {
            "metadata": {"labels": {"a": label}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        entries = {"spec": {"selector": {"matchLabels": {"a": label}}, "template": template}}
        DEFAULTS["deployments.apps"](entries)
        return entries

    assert not list(workload_errors(workload("b"), None, "deployment", counted=True))
    (error,) = workload_errors(workload("c"), workload("b"), "deployment", counted=True)
    assert (error.field, error.detail) == ("spec.selector", "field is immutable")


def _pod(**spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "web"}], **spec},
    }


async def test_a_pod_on_a_node_ends_when_its_kubelet_reports_it() -> None:
    async with running() as me:
        await me.create(PODS, _pod(nodeName="n"))
        metadata = (await me.delete(f"{PODS}/web"))["metadata"]
        assert metadata["deletionGracePeriodSeconds"] == 30
        again = (await me.delete(f"{PODS}/web", gracePeriodSeconds=60))["metadata"]
        assert again["resourceVersion"] == metadata["resourceVersion"]
        shorter = (await me.delete(f"{PODS}/web", gracePeriodSeconds=5))["metadata"]
        assert shorter["deletionGracePeriodSeconds"] == 5
        assert shorter["deletionTimestamp"] < metadata["deletionTimestamp"]
        await me.merge(f"{PODS}/web/status", {"status": {"phase": "Running"}})
        assert not await me.gone(f"{PODS}/web")
        await me.delete(f"{PODS}/web", gracePeriodSeconds=0)
        assert await me.gone(f"{PODS}/web")


@pytest.mark.parametrize("spec", [{}, {"nodeName": "n", "terminationGracePeriodSeconds": 0}])
async def test_a_pod_without_a_kubelet_is_deleted_at_once(spec: Document) -> None:
    async with running() as me:
        await me.create(PODS, _pod(**spec))
        await me.delete(f"{PODS}/web")
        assert await me.gone(f"{PODS}/web")


async def test_an_event_needs_a_time_and_a_known_type() -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"namespace": "default"},
        "type": "Odd",
    }
    async with running() as me:
        status, body = await me.ask("POST", EVENTS, event)
        assert (status, [cause["field"] for cause in body["details"]["causes"]]) == (
            422,
            ["eventTime", "type"],
        )


@pytest.mark.parametrize(
    ("moment", "rest"),
    [
        ("2020-01-01T00:00:00.5Z", 'cannot parse ".5Z" as ".000000"'),
        ("2020-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2020-01-01T00:00:00.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
    ],
)
async def test_a_lease_counts_microseconds(moment: str, rest: str) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"renewTime": moment},
    }
    async with running() as me:
        status, body = await me.ask("POST", LEASES, lease)
        assert status == 400
        assert body["message"].endswith(rest)


async def test_a_version_may_be_removed_from_the_stored_ones() -> None:
    async with running() as me:
        path = f"{CRDS}/{GIZMO['metadata']['name']}/status"
        result = await me.merge(path, {"status": {"storedVersions": ["v0", "v1"]}})
        assert result["status"]["storedVersions"] == ["v0", "v1"]
        result = await me.merge(path, {"status": {"storedVersions": []}})
        assert result["status"]["storedVersions"] == ["v1"]
