"""The official Python client against a plane: typed, dynamic, watches, conflicts, leases."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch

from tests.e2e.shell import Shell
from tests.foreign.program import running, until

pytestmark = pytest.mark.sockets
CANDIDATE = Path(__file__).parent / "candidate.py"
CLUSTERS = "cluster.x-k8s.io/v1beta2"


@pytest.fixture(scope="module")
def api(shell: Shell) -> client.ApiClient:
    return config.new_client_from_config(str(shell.home / ".kube" / "config"))


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def space(core: client.CoreV1Api) -> Iterator[str]:
    """A namespace of one's own."""
    name = f"n-{uuid.uuid4().hex[:8]}"
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    yield name
    core.delete_namespace(name)


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    meta = client.V1ObjectMeta(name=name, labels={"by": "test"})
    return client.V1ConfigMap(metadata=meta, data=data)


def test_objects_are_made_changed_listed_and_deleted(core: client.CoreV1Api, space: str) -> None:
    first = core.create_namespaced_config_map(space, config_map("a", x="1"))
    assert first.metadata.uid
    patched = core.patch_namespaced_config_map("a", space, {"data": {"y": "2"}})
    assert patched.data == {"x": "1", "y": "2"}
    first.data = {"x": "stale"}
    with pytest.raises(client.ApiException) as stale:
        core.replace_namespaced_config_map("a", space, first)
    assert (stale.value.status, stale.value.reason) == (409, "Conflict")
    patched.data = {"x": "fresh"}
    assert core.replace_namespaced_config_map("a", space, patched).data == {"x": "fresh"}
    for name in ("b", "c"):
        core.create_namespaced_config_map(space, config_map(name))
    listed = core.list_namespaced_config_map(space, label_selector="by=test", limit=2)
    rest = core.list_namespaced_config_map(
        space, label_selector="by=test", limit=2, _continue=listed.metadata._continue
    )
    assert [item.metadata.name for item in [*listed.items, *rest.items]] == ["a", "b", "c"]
    core.delete_collection_namespaced_config_map(space, label_selector="by=test")
    assert core.list_namespaced_config_map(space, label_selector="by=test").items == []
    with pytest.raises(client.ApiException) as error:
        core.read_namespaced_config_map("a", space)
    assert error.value.status == 404


def taken(stream: Iterator[Any], count: int) -> list[tuple[str, str]]:
    events = (next(stream) for _ in range(count))
    return [(event["type"], event["object"].metadata.name) for event in events]


def test_a_watch_continues_where_it_ended(core: client.CoreV1Api, space: str) -> None:
    since = core.list_namespaced_config_map(space).metadata.resource_version
    for name in ("a", "b", "c"):
        core.create_namespaced_config_map(space, config_map(name))
    core.delete_namespaced_config_map("b", space)
    follow = watch.Watch()
    at = {"namespace": space, "label_selector": "by=test", "timeout_seconds": 20}
    stream = follow.stream(core.list_namespaced_config_map, resource_version=since, **at)
    assert taken(stream, 2) == [("ADDED", "a"), ("ADDED", "b")]
    stream.close()
    again = watch.Watch()
    stream = again.stream(
        core.list_namespaced_config_map, resource_version=follow.resource_version, **at
    )
    assert taken(stream, 2) == [("ADDED", "c"), ("DELETED", "b")]
    stream.close()


def test_a_watch_from_before_the_history_gets_an_expired_error(
    core: client.CoreV1Api, space: str
) -> None:
    with pytest.raises(client.ApiException) as expired:
        next(watch.Watch().stream(core.list_namespaced_config_map, space, resource_version="1"))
    assert expired.value.status == 410


def test_kinds_are_found_and_applied_dynamically(api: client.ApiClient) -> None:
    result = dynamic.DynamicClient(api)
    clusters = result.resources.get(api_version=CLUSTERS, kind="Cluster")
    (value,) = clusters.get(namespace="default").items
    assert value.status.phase == "Provisioned"
    body = {
        "apiVersion": CLUSTERS,
        "kind": "Cluster",
        "metadata": {"name": "capybara", "namespace": "default", "labels": {"by": "dynamic"}},
    }
    applied = clusters.server_side_apply(
        body=body, name="capybara", namespace="default", field_manager="test"
    )
    assert applied.metadata.labels.by == "dynamic"
    event = next(iter(clusters.watch(namespace="default", timeout=5)))
    assert (event["type"], event["object"].metadata.name) == ("ADDED", "capybara")
    deployments = result.resources.get(api_version=CLUSTERS, kind="MachineDeployment")
    scale = deployments.scale.get(name="capybara-md-0", namespace="default")
    assert (scale.kind, scale.status.selector != "") == ("Scale", True)


def test_a_token_of_an_account_has_the_rights_of_its_roles(
    api: client.ApiClient, core: client.CoreV1Api, space: str
) -> None:
    spec = {"spec": {"expirationSeconds": 600, "audiences": []}}
    token = core.create_namespaced_service_account_token("default", space, spec).status.token
    settings = client.Configuration()
    settings.host = api.configuration.host
    settings.ssl_ca_cert = api.configuration.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {token}"}
    theirs = client.CoreV1Api(client.ApiClient(settings))
    with pytest.raises(client.ApiException) as refused:
        theirs.list_namespaced_config_map(space)
    assert refused.value.status == 403
    roles = client.RbacAuthorizationV1Api(api)
    subject = client.RbacV1Subject(kind="ServiceAccount", name="default", namespace=space)
    role = client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="view")
    binding = client.V1RoleBinding(
        metadata=client.V1ObjectMeta(name="view"), subjects=[subject], role_ref=role
    )
    roles.create_namespaced_role_binding(space, binding)
    (published,) = theirs.list_namespaced_config_map(space).items
    assert published.metadata.name == "kube-root-ca.crt"


def test_one_of_two_candidates_leads(shell: Shell, core: client.CoreV1Api, space: str) -> None:
    run = (sys.executable, str(CANDIDATE), space)
    with running(shell, "first", *run, "first") as first:
        until("the first one leads", lambda: "first leads" in first.log.read_text())
        with running(shell, "second", *run, "second") as second:
            until("the other one waits", lambda: "is a follower" in second.log.read_text())
            first.kill()
            until("the other one leads", lambda: "second leads" in second.log.read_text())
    lock = core.read_namespaced_config_map("leader", space)
    assert '"second"' in lock.metadata.annotations["control-plane.alpha.kubernetes.io/leader"]
