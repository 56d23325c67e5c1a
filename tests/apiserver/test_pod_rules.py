"""Rules for pods, Jobs and Services that kube-apiserver has, by what breaks them."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.resources.builtin.kind_warnings import pod_warnings
from kapy.apiserver.resources.builtin.pod_errors import image_errors, pod_errors
from kapy.kube import Document
from tests.apiserver.requester import Asking, running

SERVICES = "/api/v1/namespaces/default/services"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
GOOD: Document = {
    "name": "c",
    "image": "i",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


EMPTY: Document = {"name": "v", "emptyDir": {}}


def spec_of(container: Document, **spec: Any) -> Document:
    containers = [{**GOOD, **container}]
    return {"restartPolicy": "Always", "dnsPolicy": "Default", "containers": containers, **spec}


@pytest.mark.parametrize(
    ("container", "spec", "wrong"),
    [
        ({}, {}, []),
        ({"image": " "}, {}, []),  # blanks are for pods only
        ({"name": ""}, {}, ["containers[0].name: Required value"]),
        ({"ports": [{"containerPort": 0, "protocol": "TCP"}]}, {},
         ["containers[0].ports[0].containerPort: Required value"]),
        ({"ports": [{"containerPort": 70000, "protocol": "X", "name": "A"}]}, {},
         ["containers[0].ports[0].name: ", "containers[0].ports[0].name: ",
          "containers[0].ports[0].containerPort: Invalid value: 70000",
          "containers[0].ports[0].protocol: Unsupported value"]),
        ({"env": [{"name": "a=b"}, {"name": "a b"}, {"name": ""}]}, {},
         ["containers[0].env[0].name: Invalid", "containers[0].env[2].name: Required"]),
        ({"env": [{"name": "a", "value": "1", "valueFrom": {"fieldRef": {}}}]}, {},
         ["containers[0].env[0].valueFrom: Invalid"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, {},
         ["containers[0].volumeMounts[0].name: Not found"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, {"volumes": [EMPTY]}, []),
        ({}, {"volumes": [EMPTY, EMPTY]}, ["volumes[1].name: Duplicate"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, {"volumes": [{"name": "v"}]},
         ["volumes[0]: Required value: must specify a volume type",
          "containers[0].volumeMounts[0].name: Not found"]),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}, {},
         ["containers[0].resources.requests: Invalid"]),
        ({"resources": {"requests": {"x.dev/y": "1"}}}, {},
         ["containers[0].resources.limits: Required"]),
        ({"livenessProbe": {"successThreshold": 2, "exec": {}, "grpc": {"port": 1}}}, {},
         ["containers[0].livenessProbe.exec.command: Required",
          "containers[0].livenessProbe.grpc: Forbidden",
          "containers[0].livenessProbe.successThreshold: Invalid"]),
        ({"readinessProbe": {"terminationGracePeriodSeconds": 0, "timeoutSeconds": -1}}, {},
         ["containers[0].readinessProbe: Required",
          "containers[0].readinessProbe.timeoutSeconds: Invalid",
          "containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid",
          "containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid"]),
        ({}, {"restartPolicy": "X"},
         ['restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure"']),
        ({}, {"activeDeadlineSeconds": 0, "hostname": "A"},
         ["hostname: ", "activeDeadlineSeconds: "]),
        ({}, {"initContainers": [{**GOOD, "livenessProbe": {}}]},
         ["initContainers[0].name: Duplicate", "initContainers[0].livenessProbe: Forbidden"]),
    ],
)  # fmt: skip
def test_an_invalid_pod_is_refused(container: Document, spec: Document, wrong: list[str]) -> None:
    errors = [str(error) for error in pod_errors(spec_of(container, **spec), "spec")]
    assert len(errors) == len(wrong), errors
    for error, start in zip(sorted(errors), sorted(f"spec.{text}" for text in wrong), strict=True):
        assert error.startswith(start), errors


def test_images_of_pods_have_no_blanks_around_them() -> None:
    (error,) = image_errors(spec_of({"image": " i"}), "spec")
    assert (error.field, error.value) == ("spec.containers[0].image", " i")


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"ports": [{"containerPort": 1}, {"containerPort": 1}]}, "duplicate port definition"),
        (
            {"ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 1}]},
            "overlapping port",
        ),
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, "hides previous"),
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}]}, ""),
        ({"resources": {"limits": {"memory": "1m"}}}, "fractional byte value"),
    ],
)
def test_unwise_container_settings_cause_warnings(container: Document, message: str) -> None:
    warnings = list(pod_warnings(spec_of(container), "spec"))
    assert len(warnings) == bool(message)
    assert all(message in text for text in warnings)


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MASTER = "node-role.kubernetes.io/master"
_OLD = {"matchExpressions": [{"key": _MASTER, "operator": "In", "values": ["/"]}]}
_INSTEAD = 'use "node-role.kubernetes.io/control-plane" instead'
_KEY = f"matchExpressions[0].key: {_MASTER} is {_INSTEAD}"
_NONE = "a null labelSelector results in matching no pod"


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"nodeSelector": {_MASTER: ""}}, [f"nodeSelector[{_MASTER}]: {_INSTEAD}"]),
        ({"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [_OLD]}}}},
         [f"affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[0].{_KEY}"]),
        ({"affinity": {"nodeAffinity": {_PREFERRED: [{"weight": 1, "preference": _OLD}]}}},
         [f"affinity.nodeAffinity.{_PREFERRED}[0].preference.{_KEY}",
          f"affinity.nodeAffinity.{_PREFERRED}[0].preference.matchExpressions[0].values[0]: / "]),
        ({"affinity": {"podAffinity": {_REQUIRED: [{}]}, "podAntiAffinity": {_PREFERRED: [{}]}}},
         [f"affinity.podAffinity.{_REQUIRED}[0].labelSelector: {_NONE}",
          f"affinity.podAntiAffinity.{_PREFERRED}[0].podAffinityTerm.labelSelector: {_NONE}"]),
        ({"topologySpreadConstraints": [{"topologyKey": "beta.kubernetes.io/os"}]},
         ["topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated since ",
          f"topologySpreadConstraints[0].labelSelector: {_NONE}"]),
        ({"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]},
         ['hostAliases[1].ip: duplicate ip "1.2.3.4"']),
        ({"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
         ['imagePullSecrets[1].name: duplicate name "a"',
          'imagePullSecrets[2].name: invalid empty name ""']),
        ({"terminationGracePeriodSeconds": -1}, ["terminationGracePeriodSeconds: must be >= 0;"]),
    ],
)  # fmt: skip
def test_an_unusual_pod_spec_causes_warnings(spec: Document, messages: list[str]) -> None:
    warnings = list(pod_warnings(spec, "spec"))
    assert len(warnings) == len(messages), warnings
    for text, start in zip(warnings, messages, strict=True):
        assert text.startswith(f"spec.{start}"), warnings


def service(**spec: Any) -> Document:
    meta = {"name": "s"}
    body = {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": body}


async def test_node_ports_come_stay_and_go_with_the_type_of_a_service() -> None:
    async with running() as me:
        spec = (await me.create(SERVICES, service(type="NodePort")))["spec"]
        port = spec["ports"][0]["nodePort"]
        assert 30000 <= port < 32768
        path = f"{SERVICES}/s"
        same = (await me.merge(path, {"spec": {"ports": [{"port": 81}]}}))["spec"]
        assert same["ports"][0]["nodePort"] == port
        inside = (await me.merge(path, {"spec": {"type": "ClusterIP"}}))["spec"]
        assert "nodePort" not in inside["ports"][0]
        assert "externalTrafficPolicy" not in inside
        outside = (await me.merge(path, {"spec": {"type": "NodePort"}}))["spec"]
        assert outside["ports"][0]["nodePort"] >= 30000
        assert outside["clusterIP"] == spec["clusterIP"]
        named = {"type": "ExternalName", "externalName": "x.dev"}
        removal = (await me.merge(path, {"spec": named}))["spec"]
        assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & removal.keys()


async def refusal(me: Asking, spec: Document) -> str:
    status, body = await me.ask("POST", SERVICES, service(**spec))
    assert status == 422
    return str(body["message"])


async def test_a_service_with_unavailable_features_is_refused() -> None:
    async with running() as me:
        dual = await refusal(me, {"ipFamilyPolicy": "RequireDualStack"})
        assert "this cluster is not configured for dual-stack services" in dual
        other = await refusal(me, {"ipFamilies": ["IPv6"]})
        assert 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster' in other
        far = {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}
        assert "The range of valid ports is 30000-32767" in await refusal(me, far)
        entries = {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30080}]}
        await me.create(SERVICES, {**service(**entries), "metadata": {"name": "first"}})
        assert "provided port is already allocated" in await refusal(me, entries)


async def test_a_job_gets_a_selector_of_its_own_that_stays() -> None:
    async with running() as me:
        pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
        result = await me.create(JOBS, {**job, "spec": {"template": pod}})
        uid = {"batch.kubernetes.io/controller-uid": result["metadata"]["uid"]}
        assert result["spec"]["selector"] == {"matchLabels": uid}
        labels = result["spec"]["template"]["metadata"]["labels"]
        assert labels == result["metadata"]["labels"]
        assert labels["job-name"] == "j"
        status, body = await me.ask("PUT", f"{JOBS}/j", {**job, "spec": {"template": pod}})
        assert status == 422
        assert "spec.selector: Required value" in body["message"]
