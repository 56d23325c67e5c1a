"""Environment variables of containers, of a table: the same inputs as kubelets take."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from kapy.kube import Document
from kapy.node_agent.sources import MissingSource, Sources, environment_of, expand

POD: Document = {
    "metadata": {
        "name": "pod", "namespace": "ns", "uid": "1-2", "labels": {"app": "a"},
        "annotations": {"x/y": 'a "b"'},
    },
    "spec": {
        "nodeName": "node", "serviceAccountName": "mgr",
        "containers": [
            {"name": "other", "resources": {"limits": {"cpu": "3", "memory": "0"}}},
        ],
        "initContainers": [{"name": "before"}],
    },
    "status": {
        "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}, {"ip": "::1"}],
        "hostIP": "127.0.0.2", "hostIPs": [{"ip": "127.0.0.2"}, {"ip": "::2"}],
    },
}  # fmt: skip


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SECRETS: Mapping[str, Document] = {"s": {"data": {"K": _b64("secret"), "L": _b64("$(A)")}}}
CONFIG_MAPS: Mapping[str, Document] = {"c": {"data": {"K": "config"}}}
SOURCES = Sources(POD, SECRETS.get, CONFIG_MAPS.get, {"cpu": "4", "memory": "1Gi"})


def field(path: str) -> Document:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def resource(name: str, divisor: str = "", container: str = "") -> Document:
    reference = {"resource": name, "divisor": divisor, "containerName": container}
    return {"valueFrom": {"resourceFieldRef": reference}}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ({"value": "plain"}, "plain"),
        ({"value": "$(GIVEN)/x $$(GIVEN) $(OTHER)"}, "given/x $(GIVEN) $(OTHER)"),
        (field("metadata.name"), "pod"),
        (field("metadata.namespace"), "ns"),
        (field("metadata.uid"), "1-2"),
        (field("metadata.labels['app']"), "a"),
        (field("metadata.annotations['x/y']"), 'a "b"'),
        (field("metadata.labels['none']"), ""),
        (field("spec.nodeName"), "node"),
        (field("spec.serviceAccountName"), "mgr"),
        (field("status.podIP"), "127.0.0.1"),
        (field("status.hostIP"), "127.0.0.2"),
        (field("status.podIPs"), "127.0.0.1,::1"),
        (field("status.hostIPs"), "127.0.0.2,::2"),
        (resource("limits.cpu"), "1"),
        (resource("limits.cpu", container="other"), "3"),
        (resource("limits.memory", container="other"), "1073741824"),
        (resource("limits.cpu", container="before"), "0"),
        (resource("limits.ephemeral-storage"), "1073741824"),
        (resource("limits.hugepages-2Mi", "1Mi"), "4"),
        (resource("requests.hugepages-2Mi"), "0"),
        (resource("requests.memory"), "3000000000000000"),
        (resource("requests.memory", "0"), "3000000000000000"),
        (resource("limits.cpu", "1m"), "500"),
        (resource("limits.memory", "1Mi"), "1024"),
        (resource("requests.cpu"), "0"),
        ({"valueFrom": {"secretKeyRef": {"name": "s", "key": "K"}}}, "secret"),
        ({"valueFrom": {"secretKeyRef": {"name": "s", "key": "L"}}}, "$(A)"),
        ({"valueFrom": {"configMapKeyRef": {"name": "c", "key": "K"}}}, "config"),
        ({"valueFrom": {"secretKeyRef": {"name": "no", "key": "K", "optional": True}}}, None),
        ({"valueFrom": {"configMapKeyRef": {"name": "c", "key": "no", "optional": True}}}, None),
    ],
)
def test_a_variable_has_the_value_that_a_kubelet_gives_it(
    variable: dict[str, Any], value: str | None
) -> None:
    limits = {"cpu": "500m", "hugepages-2Mi": "4Mi"}
    resources = {"limits": limits, "requests": {"memory": "3P"}}
    container = {"resources": resources, "env": [{"name": "A", **variable}]}
    assert environment_of(container, SOURCES, {"GIVEN": "given"}).get("A") == value


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ({"secretKeyRef": {"name": "no", "key": "K"}}, 'secret "no" not found'),
        ({"secretKeyRef": {"name": "s", "key": "no"}}, "couldn't find key no in secret s"),
        ({"configMapKeyRef": {"name": "no", "key": "K"}}, 'configmap "no" not found'),
        ({"fieldRef": {"fieldPath": "spec.containers"}}, "the field spec.containers is not one"),
        ({"resourceFieldRef": {"resource": "limits.gpu"}}, "the resource limits.gpu is not one"),
        (
            {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "x"}},
            "container x not found",
        ),
        ({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "?"}}, r"\?"),
        ({"fileKeyRef": {}}, "has a source that is not supported"),
    ],
)
def test_missing_sources_are_named(variable: dict[str, Any], why: str) -> None:
    container = {"env": [{"name": "A", "valueFrom": variable}]}
    with pytest.raises(MissingSource, match=why):
        environment_of(container, SOURCES, {})


def test_env_precedes_env_from() -> None:
    container = {
        "envFrom": [{"prefix": "P_", "secretRef": {"name": "s"}}, {"configMapRef": {"name": "c"}}],
        "env": [{"name": "K", "value": "own $(P_K)"}],
    }
    environment = environment_of(container, SOURCES, {})
    assert environment == {"P_K": "secret", "P_L": "$(A)", "K": "own secret"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("$(A)", "1"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$(B)", "$(B)"), ("$(A", "$(A")],
)
def test_variable_references_are_expanded(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded
