"""Preflight failures, which keep a control plane from adding or removing a Machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.preflight import is_stable
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import conditions
from tests.providers.kubeadm.building import machine, plane

GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"]}


def tools(messages: list[str]) -> Dependencies:
    """Tools that keep the events."""
    recorder = SimpleNamespace(warning=lambda _, __, message: messages.append(message))
    return cast(
        Dependencies, SimpleNamespace(cache=SimpleNamespace(last_event={}), recorder=recorder)
    )


def found(*machines: Document, certificates: bool = True) -> ControlPlane:
    of = plane(*machines)
    set_ = conditions.true if certificates else conditions.false
    of.set(set_("CertificatesAvailable", "R"))
    for item in of.machines:
        of.set_on(item, conditions.true("NodeKubeadmLabelsAndTaintsSet", "R"))
    return of


@pytest.mark.parametrize("scale_up", [True, False])
@pytest.mark.parametrize(
    ("of", "blocker"),
    [
        (found(machine("a"), machine("b")), ""),
        (found(machine("a"), machine("b", **GOING)), "deleting_machine"),
        (found(machine("a"), machine("b", node=False)), "components_not_healthy"),
        (found(machine("a"), machine("b", healthy=False)), "etcd_not_healthy"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_scaling_control_plane_does_one_thing_at_a_time(
    of: ControlPlane, blocker: str, *, scale_up: bool
) -> None:
    assert is_stable(tools([]), of, scale_up=scale_up) is not bool(blocker)
    assert not blocker or getattr(of.preflight, blocker)


@pytest.mark.parametrize("scale_up", [True, False])
def test_only_a_new_machine_needs_the_certificates(*, scale_up: bool) -> None:
    of = found(machine("a"), certificates=False)
    assert is_stable(tools([]), of, scale_up=scale_up) is not scale_up
    assert of.preflight.certificate_missing is scale_up


def test_the_same_finding_is_reported_once() -> None:
    messages: list[str] = []
    with_memory = tools(messages)
    for _ in range(3):
        assert not is_stable(with_memory, found(machine("a", node=False)), scale_up=True)
    assert len(messages) == 1
