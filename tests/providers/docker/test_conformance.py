"""Both families of the docker backend keep their contracts, on an engine of paper."""

from __future__ import annotations

from typing import Final

import pytest

from kapy._aio.services import Service
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document
from kapy.kube.http import Transport
from kapy.providers.docker import Host, add_to
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk import Runtime
from kapy.sdk.workload_clusters import WorkloadClusters
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.conformance.run import run_checks
from kapy.testing.simulation.fake_engine import FakeEngine
from tests.providers.docker.setup import DEV, DOCKER, Kinds
from tests.testing.conformance.behaviour.providers import template_of

DOCUMENTS: Final = ("infra-cluster", "infra-machine", "infra-machinepool", "clusterctl")


class EveryImage(set[str]):
    """Images of an engine that has all of them."""

    def __contains__(self, _: object) -> bool:
        return True


def nobody(_: Kubeconfig) -> Transport:
    """The workload clusters of the kit do not answer."""
    raise ConnectionRefusedError


def containers(kinds: Kinds, engine: FakeEngine) -> ProviderUnderTest:
    """The kinds of one family, served by controllers on one engine."""
    engine.images = EveryImage()

    def add(runtime: Runtime) -> dict[str, Service]:
        workload = WorkloadClusters(runtime, ClusterCache(runtime, dial=nobody))
        return dict(add_to(runtime, workload, Host(lambda: engine, {})))

    pool: Document = kinds.pool_of({})
    examples = {
        "infra-cluster": (kinds.cluster, kinds.infra()),
        "infra-machine": (kinds.machine, kinds.machine_of()),
        "infra-machinepool": (kinds.pool, pool),
    }
    results = [
        Kind(role, resource, example, template=template_of(resource))
        for role, (resource, example) in examples.items()
    ]
    return ProviderUnderTest("docker", tuple(results), InProcess(add))


@pytest.mark.parametrize("kinds", [DEV, DOCKER], ids=["dev", "docker"])
async def test_the_docker_backend_keeps_every_rule(kinds: Kinds) -> None:
    engine = FakeEngine()
    report = await run_checks(containers(kinds, engine), BEHAVIOUR)
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    not_run = {item.rule.id: item.reason for item in report.with_state(State.NOT_RUN)}
    looked = {check.rule for check in BEHAVIOUR if check.role in DOCUMENTS}
    assert looked & set(not_run) == set(), not_run
    assert engine.names() == []
