"""Providers of the SDK keep the contracts by which anybody's provider is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import pytest

from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk import add_bootstrap, add_control_plane
from kapy.testing.conformance.behaviour import bootstrap_config, control_plane
from kapy.testing.conformance.behaviour.assertions import check
from kapy.testing.conformance.core_controllers import WithCoreControllers
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from tests.providers.kubeadm.test_conformance import CONTROL_PLANE, MACHINES, keeps_every_rule
from tests.sdk import page_of_kubeadm
from tests.sdk.paper_bootstrap import CONFIG, Letterhead, PaperBoot, PaperConfig
from tests.sdk.paper_plane import PLANE, PaperControlPlane, PaperService

SEEDS: Final = range(int(os.environ.get("KAPY_SEEDS", "0")))
"""Of bad days: they are of no other kind than those of kubeadm's control plane."""
FINALIZER: Final = "paper.example.dev/conformance"


def paper_boot(runtime: Runtime) -> None:
    add_bootstrap(runtime, PaperConfig, PaperBoot())


def letterhead(runtime: Runtime) -> None:
    letters = Letterhead(runtime.clock)
    add_bootstrap(runtime, PaperConfig.RESOURCE, letters, finalizer=FINALIZER)


def paper_service(runtime: Runtime) -> None:
    add_control_plane(runtime, PaperControlPlane, PaperService(), finalizer=FINALIZER)


@pytest.mark.parametrize(
    ("role", "resource", "example", "add", "checks"),
    [
        ("bootstrap-config", PaperConfig.RESOURCE, CONFIG, paper_boot, bootstrap_config.CHECKS),
        ("bootstrap-config", PaperConfig.RESOURCE, CONFIG, letterhead, bootstrap_config.CHECKS),
        ("control-plane", PaperControlPlane.RESOURCE, PLANE, paper_service, control_plane.CHECKS),
    ],
    ids=["one is the first", "all are alike", "a control plane that somebody runs"],
)
async def test_a_provider_keeps_every_rule_that_its_life_shows(
    role: str,
    resource: Resource,
    example: Document,
    add: Callable[[Runtime], None],
    checks: Any,
) -> None:
    await check(Kind.of(role, resource, example), add, checks)


async def test_a_control_plane_of_machines_keeps_every_rule_among_others() -> None:
    spec = {
        name: CONTROL_PLANE["spec"][name] for name in ("replicas", "version", "machineTemplate")
    }
    example: Document = {"kind": "PageControlPlane", "metadata": {}, "spec": spec}
    kind = Kind.of("control-plane", page_of_kubeadm.PageControlPlane, example)
    way = WithCoreControllers(lambda _: InProcess(page_of_kubeadm.add_to))
    subject = ProviderUnderTest("a control plane in a page", (kind,), way, extras=[MACHINES])
    await keeps_every_rule(subject, "control-plane", seeds=SEEDS)
