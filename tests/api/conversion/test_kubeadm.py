"""kubeadm's kinds in v1beta1 and in v1beta2."""

from __future__ import annotations

import pytest

from kapy.api.conversion import DATA, ConversionError, convert
from kapy.kube import Document

BOOTSTRAP = "bootstrap.cluster.x-k8s.io"
CONTROL_PLANE = "controlplane.cluster.x-k8s.io"
GROUPS = {
    "KubeadmConfig": BOOTSTRAP,
    "KubeadmConfigTemplate": BOOTSTRAP,
    "KubeadmControlPlane": CONTROL_PLANE,
    "KubeadmControlPlaneTemplate": CONTROL_PLANE,
}


def an_object(version: str, spec: Document, kind: str = "KubeadmConfig") -> Document:
    return {
        "apiVersion": f"{GROUPS[kind]}/{version}",
        "kind": kind,
        "metadata": {"name": "one", "namespace": "ns"},
        "spec": spec,
    }


def converted(document: Document, version: str) -> Document:
    group = document["apiVersion"].partition("/")[0]
    return convert(
        document, f"{group}/{version}", reference_version=lambda kind: f"{kind.group}/v1"
    )


def stored(spec: Document, kind: str = "KubeadmConfig") -> Document:
    document: Document = converted(an_object("v1beta1", spec, kind), "v1beta2")["spec"]
    return document


def shown(spec: Document, kind: str = "KubeadmConfig") -> Document:
    document: Document = converted(an_object("v1beta2", spec, kind), "v1beta1")["spec"]
    return document


def without_empty(node: Document) -> Document:
    """The document without the empty objects that v1beta1 writes everywhere."""
    parts = {
        key: without_empty(value) if isinstance(value, dict) else value
        for key, value in node.items()
    }
    return {key: value for key, value in parts.items() if value != {}}


TOKEN = "abcdef.0123456789abcdef"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"clusterConfiguration": {"apiServer": {"extraArgs": {"v": "4", "a": ""}}}},
            {
                "clusterConfiguration": {
                    "apiServer": {
                        "extraArgs": [{"name": "a", "value": ""}, {"name": "v", "value": "4"}]
                    }
                }
            },
        ),
        (
            {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"v": "4"}}}},
            {
                "joinConfiguration": {
                    "nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "4"}]}
                }
            },
        ),
        (
            {"initConfiguration": {"nodeRegistration": {"taints": []}}},
            {"initConfiguration": {"nodeRegistration": {"taints": []}}},
        ),
        (
            {"initConfiguration": {"bootstrapTokens": [{"token": TOKEN, "ttl": "1h0m0s"}]}},
            {"initConfiguration": {"bootstrapTokens": [{"token": TOKEN, "ttlSeconds": 3600}]}},
        ),
        (
            {"clusterConfiguration": {"apiServer": {"timeoutForControlPlane": "4m0s"}}},
            {
                "initConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}},
                "joinConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}},
            },
        ),
        (
            {"joinConfiguration": {"discovery": {"timeout": "5m0s"}}},
            {"joinConfiguration": {"timeouts": {"tlsBootstrapSeconds": 300}}},
        ),
        (
            {"files": [{"path": "/a", "append": True}]},
            {"files": [{"path": "/a", "append": True}]},
        ),
        (
            {"diskSetup": {"partitions": [{"device": "/dev/a", "layout": False}]}},
            {"diskSetup": {"partitions": [{"device": "/dev/a", "layout": False}]}},
        ),
    ],
)
def test_a_config_survives_a_conversion(old: Document, new: Document) -> None:
    assert stored(old) == new
    assert without_empty(shown(new)) == old


def test_fields_that_upstream_never_read_are_dropped() -> None:
    spec = {
        "useExperimentalRetryJoin": True,
        "clusterConfiguration": {
            "apiVersion": "kubeadm.k8s.io/v1beta3",
            "kind": "ClusterConfiguration",
            "kubernetesVersion": "v1.20.0",
            "clusterName": "other",
            "networking": {"podSubnet": "10.0.0.0/16"},
        },
    }
    document = converted(an_object("v1beta1", spec), "v1beta2")
    assert "spec" not in document


REFERENCE = {"kind": "DevMachineTemplate", "name": "machines"}
OLD_KCP = {
    "replicas": 3,
    "version": "v1.34.0",
    "machineTemplate": {
        "infrastructureRef": {"apiVersion": "i.example.com/v1", "namespace": "ns", **REFERENCE},
        "nodeDrainTimeout": "10s",
    },
    "rolloutBefore": {"certificatesExpiryDays": 21},
    "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
    "remediationStrategy": {"maxRetry": 2, "retryPeriod": "0s", "minHealthyPeriod": "1h0m0s"},
    "machineNamingStrategy": {"template": "{{ .random }}"},
}
NEW_KCP = {
    "replicas": 3,
    "version": "v1.34.0",
    "machineTemplate": {
        "spec": {
            "infrastructureRef": {"apiGroup": "i.example.com", **REFERENCE},
            "deletion": {"nodeDrainTimeoutSeconds": 10},
        }
    },
    "rollout": {
        "before": {"certificatesExpiryDays": 21},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
    },
    "remediation": {"maxRetry": 2, "minHealthyPeriodSeconds": 3600},
    "machineNaming": {"template": "{{ .random }}"},
}


def test_a_control_plane_survives_a_conversion() -> None:
    assert stored(OLD_KCP, "KubeadmControlPlane") == NEW_KCP
    assert without_empty(shown(NEW_KCP, "KubeadmControlPlane")) == OLD_KCP


@pytest.mark.parametrize("strategy", [{}, {"rollingUpdate": {"maxSurge": 1}}])
def test_an_old_template_may_omit_its_type(strategy: Document) -> None:
    spec = {"template": {"spec": {"rolloutStrategy": strategy}}}
    rollout = stored(spec, "KubeadmControlPlaneTemplate")["template"]["spec"]["rollout"]
    assert rollout["strategy"] == {"type": "RollingUpdate", **strategy}


def test_counters_are_converted_with_their_meaning() -> None:
    kcp = an_object("v1beta1", OLD_KCP, "KubeadmControlPlane") | {
        "status": {
            "initialized": True,
            "replicas": 3,
            "readyReplicas": 1,
            "unavailableReplicas": 2,
            "v1beta2": {"readyReplicas": 2, "upToDateReplicas": 3},
        }
    }
    status = converted(kcp, "v1beta2")["status"]
    old = status.pop("deprecated")["v1beta1"]
    assert old == {"updatedReplicas": 0, "readyReplicas": 1, "unavailableReplicas": 2}
    assert status == {
        "initialization": {"controlPlaneInitialized": True},
        "replicas": 3,
        "readyReplicas": 2,
        "upToDateReplicas": 3,
    }
    back = converted(converted(kcp, "v1beta2"), "v1beta1")["status"]
    assert back == kcp["status"] | {"ready": True, "updatedReplicas": 0}


ALL_TIMEOUTS = {"kubeletHealthCheckSeconds": 1, "etcdAPICallSeconds": 2, "discoverySeconds": 0}


@pytest.mark.parametrize(
    "spec",
    [
        {"initConfiguration": {"timeouts": ALL_TIMEOUTS}},
        {"joinConfiguration": {"timeouts": ALL_TIMEOUTS}},
        {"files": [{"path": "/a", "append": False}, {"path": "/b"}]},
        {
            "clusterConfiguration": {
                "scheduler": {
                    "extraVolumes": [
                        {"name": "v", "hostPath": "/h", "mountPath": "/m", "readOnly": False}
                    ]
                }
            }
        },
        {"ignition": {"containerLinuxConfig": {"strict": False}}},
        {
            "joinConfiguration": {
                "discovery": {
                    "bootstrapToken": {"unsafeSkipCAVerification": False},
                    "file": {
                        "kubeConfigPath": "/k",
                        "kubeConfig": {
                            "cluster": {"insecureSkipTLSVerify": False},
                            "user": {"exec": {"command": "c", "provideClusterInfo": False}},
                        },
                    },
                }
            }
        },
    ],
)
@pytest.mark.parametrize("kind", ["KubeadmConfig", "KubeadmConfigTemplate"])
def test_fields_that_v1beta1_lacks_survive_a_round_trip(kind: str, spec: Document) -> None:
    whole = spec if kind == "KubeadmConfig" else {"template": {"spec": spec}}
    document = an_object("v1beta2", whole, kind)
    there = converted(document, "v1beta1")
    assert converted(there, "v1beta2")["spec"] == whole
    annotations = there["metadata"]["annotations"]
    del annotations[DATA]
    assert converted(there, "v1beta2").get("spec") != whole


def test_an_edit_in_v1beta1_wins_over_remembered_values() -> None:
    health = {"controlPlaneComponentHealthCheckSeconds": 1}
    document = an_object(
        "v1beta2",
        {
            "files": [{"path": "/a", "append": False}],
            "initConfiguration": {"timeouts": {**ALL_TIMEOUTS, **health}},
        },
    )
    there = converted(document, "v1beta1")
    there["spec"]["files"][0]["append"] = True
    there["spec"]["clusterConfiguration"]["apiServer"]["timeoutForControlPlane"] = "9s"
    back = converted(there, "v1beta2")["spec"]
    assert back["files"] == [{"path": "/a", "append": True}]
    nine = {"controlPlaneComponentHealthCheckSeconds": 9}
    assert back["initConfiguration"]["timeouts"] == {**ALL_TIMEOUTS, **nine}
    assert back["joinConfiguration"]["timeouts"] == nine


@pytest.mark.parametrize(
    ("kind", "spec", "field", "why"),
    [
        (
            "KubeadmConfig",
            {"clusterConfiguration": {"apiServer": {"timeoutForControlPlane": "soon"}}},
            "spec.clusterConfiguration.apiServer.timeoutForControlPlane",
            'invalid duration "soon"',
        ),
        (
            "KubeadmConfigTemplate",
            {"template": {"spec": {"joinConfiguration": {"discovery": {"timeout": "1d"}}}}},
            "spec.template.spec.joinConfiguration.discovery.timeout",
            'invalid duration "1d"',
        ),
        (
            "KubeadmConfig",
            {"clusterConfiguration": {"scheduler": {"extraArgs": [{"name": "v"}]}}},
            "spec.clusterConfiguration.scheduler.extraArgs",
            "Expected `object`, got `array`",
        ),
        (
            "KubeadmControlPlane",
            {**OLD_KCP, "machineTemplate": {"infrastructureRef": {"apiVersion": "a/b/c"}}},
            "spec.machineTemplate.infrastructureRef.apiVersion",
            "a/b/c is no apiVersion",
        ),
    ],
)
def test_an_error_names_the_broken_object_and_field(
    kind: str, spec: Document, field: str, why: str
) -> None:
    with pytest.raises(ConversionError) as raised:
        stored(spec, kind)
    message = str(raised.value)
    assert f"v1beta1 {kind} ns/one cannot be converted" in message
    assert f"{field}: " in message
    assert why in message


def test_an_error_about_a_token_does_not_repeat_it() -> None:
    tokens = [{"token": TOKEN}, {"token": "secret-but-wrong"}]
    with pytest.raises(ConversionError, match=r"bootstrapTokens\[1\].*token") as raised:
        stored({"initConfiguration": {"bootstrapTokens": tokens}})
    assert "secret-but-wrong" not in str(raised.value)
