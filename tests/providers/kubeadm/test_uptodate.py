"""Whether a Machine is what the control plane would make now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube import Document
from kapy.kube.model import decode, encode
from kapy.providers.kubeadm.controlplane.desired import kubeadm_config_spec
from kapy.providers.kubeadm.controlplane.uptodate import next_due, outdated
from tests.providers.kubeadm.building import NOW, control_plane, machine


def messages(
    kcp: KubeadmControlPlane,
    *,
    config: KubeadmConfig | None = None,
    infrastructure: Document | None = None,
    status: Document | None = None,
) -> tuple[str, ...]:
    document = machine("m")
    document["status"].update(status or {})
    value = decode(document, Machine)
    return outdated(kcp, value, config, infrastructure, NOW).messages


def config_of(kcp: KubeadmControlPlane, *, join: bool, **changes: Any) -> KubeadmConfig:
    """The KubeadmConfig that the control plane makes, after `changes` to its parts."""
    spec = encode(kubeadm_config_spec(kcp, join=join))
    for field, value in changes.items():
        spec[field] = {**spec.get(field, {}), **value} if isinstance(value, dict) else value
    return decode({"metadata": {"name": "m"}, "spec": spec}, KubeadmConfig)


def given(**parts: Any) -> KubeadmControlPlane:
    return control_plane({"kubeadmConfigSpec": parts})


REGISTRATION = {"nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]}}
PLAIN = given(clusterConfiguration={"certificatesDir": "/pki"}, files=[])
BOTH = given(initConfiguration=REGISTRATION, joinConfiguration=REGISTRATION)
DIFFERENT = given(initConfiguration=REGISTRATION)


@pytest.mark.parametrize("kcp", [PLAIN, BOTH, DIFFERENT])
@pytest.mark.parametrize("join", [True, False])
def test_a_new_machine_is_up_to_date(kcp: KubeadmControlPlane, *, join: bool) -> None:
    assert messages(kcp, config=config_of(kcp, join=join)) == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"clusterConfiguration": {"controlPlaneEndpoint": "e:1"}}, id="endpoint"),
        pytest.param({"clusterConfiguration": {"dns": {"imageTag": "v1"}}}, id="dns"),
        pytest.param(
            {
                "joinConfiguration": {
                    "discovery": {"bootstrapToken": {"token": "a.b"}},
                    "controlPlane": {},
                }
            },
            id="discovery",
        ),
        pytest.param({"format": "cloud-config"}, id="format"),
        pytest.param(
            {
                "joinConfiguration": {
                    "controlPlane": {},
                    "timeouts": {"controlPlaneComponentHealthCheckSeconds": 9},
                }
            },
            id="timeout",
        ),
    ],
)
def test_defaulted_and_in_place_fields_do_not_count_as_outdated(changes: Any) -> None:
    assert messages(PLAIN, config=config_of(PLAIN, join=True, **changes)) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"clusterConfiguration": {"certificatesDir": "/other"}},
        {"clusterConfiguration": {"featureGates": {"ControlPlaneKubeletLocalMode": False}}},
        {"preKubeadmCommands": ["true"]},
        {"joinConfiguration": {**REGISTRATION, "controlPlane": {}}},
        {"joinConfiguration": {"nodeRegistration": {"taints": []}, "controlPlane": {}}},
    ],
)
def test_a_different_configuration_makes_a_machine_outdated(changes: Any) -> None:
    config = config_of(PLAIN, join=True, **changes)
    assert messages(PLAIN, config=config) == ("KubeadmConfig is not up-to-date",)


def test_the_machine_that_ran_init_is_compared_as_a_join_too() -> None:
    old = config_of(BOTH, join=False)
    new = given(joinConfiguration=REGISTRATION)
    assert messages(new, config=old) == ()
    newer = given(joinConfiguration={"nodeRegistration": {"name": "other"}})
    assert messages(newer, config=old) == ("KubeadmConfig is not up-to-date",)


def test_another_version_or_template_makes_a_machine_outdated() -> None:
    kcp = control_plane({"version": "v1.35.0"})
    infrastructure = {
        "metadata": {
            "annotations": {
                "cluster.x-k8s.io/cloned-from-name": "large",
                "cluster.x-k8s.io/cloned-from-groupkind": "FakeMachineTemplate.i",
            }
        }
    }
    assert messages(kcp, infrastructure=infrastructure) == (
        "Version v1.34.0, v1.35.0 required",
        "FakeMachine is not up-to-date",
    )
    adopted: Document = {"metadata": {}}
    assert messages(control_plane(), infrastructure=adopted) == ()


def test_due_rollouts_and_expiring_certificates_make_a_machine_outdated() -> None:
    soon = {"certificatesExpiryDate": stamp(NOW + timedelta(days=20))}
    before = {"rollout": {"before": {"certificatesExpiryDays": 21}}}
    assert messages(control_plane(before), status=soon) == ("Certificates will expire soon",)
    assert messages(control_plane(), status=soon) == ()
    later = {"rollout": {"before": {"certificatesExpiryDays": 19}}}
    assert messages(control_plane(later), status=soon) == ()
    passed = {"rollout": {"after": stamp(NOW - timedelta(minutes=1))}}
    assert messages(control_plane(passed)) == ("KubeadmControlPlane spec.rolloutAfter expired",)
    coming = {"rollout": {"after": stamp(NOW + timedelta(minutes=1))}}
    assert messages(control_plane(coming)) == ()


def test_the_next_due_time_is_returned() -> None:
    document = machine("m")
    document["status"]["certificatesExpiryDate"] = stamp(NOW + timedelta(days=20))
    machines = [decode(document, Machine)]
    after = stamp(NOW + timedelta(days=2))
    rollout = {"rollout": {"after": after, "before": {"certificatesExpiryDays": 19}}}
    assert next_due(control_plane(rollout), machines, NOW) == NOW + timedelta(days=1)
    assert next_due(control_plane({"rollout": {"after": after}}), machines, NOW) == (
        NOW + timedelta(days=2)
    )
    assert next_due(control_plane(), machines, NOW) is None


NEWER = {"version": "v1.35.0"}


@pytest.mark.parametrize(
    ("spec", "annotations", "may"),
    [
        pytest.param({}, {}, False, id="up to date"),
        pytest.param(NEWER, {}, True, id="outdated"),
        pytest.param(NEWER, {Annotation.DELETE_MACHINE: ""}, False, id="to be deleted"),
        pytest.param(NEWER, {Annotation.REMEDIATE_MACHINE: ""}, False, id="to be remediated"),
        pytest.param(
            {**NEWER, "rollout": {"after": stamp(NOW)}}, {}, False, id="rollout after now"
        ),
        pytest.param(
            {**NEWER, "rollout": {"after": stamp(NOW + timedelta(days=1))}},
            {},
            True,
            id="rollout after tomorrow",
        ),
        pytest.param(
            {**NEWER, "rollout": {"before": {"certificatesExpiryDays": 21}}},
            {},
            False,
            id="certificates",
        ),
    ],
)
def test_only_changed_machines_may_be_updated_in_place(
    spec: Document, annotations: dict[str, str], *, may: bool
) -> None:
    document = machine("m", annotations=annotations)
    document["status"]["certificatesExpiryDate"] = stamp(NOW + timedelta(days=20))
    value = decode(document, Machine)
    assert outdated(control_plane(spec), value, None, None, NOW).may_be_updated is may
