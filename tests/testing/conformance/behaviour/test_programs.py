"""Providers as programs, over HTTPS: judged like any other, and told when they fail to run."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Serving, Settings
from kapy.cli.conformance_run import TERMINATED
from kapy.cli.main import INTERRUPTED_EXIT_CODE
from kapy.kube.names import NAMESPACES
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.command import Command
from kapy.testing.conformance.embedded import embedded
from kapy.testing.conformance.errors import ConformanceError, SubjectError
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.provider_under_test import Limits, ProviderUnderTest, Timeouts
from kapy.testing.conformance.release import releases_at
from kapy.testing.conformance.release_provider import provider_of_release
from kapy.testing.conformance.remote_cluster import AlreadyRunning, run_checks_on_remote_cluster
from kapy.testing.conformance.run import run_checks
from tests.testing.conformance.behaviour import release

PROGRAM: Final = (sys.executable, "-m", "tests.testing.conformance.behaviour.program")
ROOT: Final = Path(__file__).parents[4]
HASTE: Final = Timeouts(quiet=0.5, within=30, check=120, whole=300)

pytestmark = pytest.mark.sockets


def program(folder: Path, *more: str) -> ProviderUnderTest:
    [result] = releases_at(release.write(folder))
    launcher = Command((*PROGRAM, *more), {"PYTHONPATH": str(ROOT)})
    return provider_of_release(result, launcher, {"SIZE": "3"})


async def test_a_program_keeps_the_rules_as_it_does_in_process(tmp_path: Path) -> None:
    report = await run_checks(program(tmp_path), BEHAVIOUR, clock=system_clock, timeouts=HASTE)
    broken = {item.rule.id: item.findings for item in report.with_state(State.BROKEN)}
    assert broken == {}
    passed = {item.rule.id for item in report.with_state(State.PASSED)}
    assert {
        "infra-cluster/externally-managed",
        "infra-machine/finalizer",
        "infra-machine/instances",
        "infra-machinepool/provider-ids",
        "clusterctl/owners",
        "clusterctl/move",
        "clusterctl/status",
    } <= passed


async def test_a_program_that_does_not_start_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match=r"ended with exit code 2: .*unrecognized arguments"):
        await run_checks(program(tmp_path, "--nonsense"), BEHAVIOUR, light=True, timeouts=HASTE)


async def test_a_program_that_is_not_there_is_reported(tmp_path: Path) -> None:
    [result] = releases_at(release.write(tmp_path))
    provider = provider_of_release(result, Command(("/no/such/program",)), {"SIZE": "3"})
    with pytest.raises(SubjectError, match="/no/such/program cannot be started"):
        await run_checks(provider, BEHAVIOUR, light=True, timeouts=HASTE)


async def test_remaining_checks_of_a_dead_program_are_not_run(tmp_path: Path) -> None:
    provider = program(tmp_path, "--die-after", "1")
    checks = [check for check in BEHAVIOUR if check.role == "infra-machine" and not check.stage]
    report = await run_checks(provider, checks, clock=system_clock, light=True, timeouts=HASTE)
    assert 'ended with exit code 3: "the cloud is gone"' in report.trouble
    # The number of checks that end before the program does depends on the machine.
    assert report.trouble in {item.reason for item in report.with_state(State.NOT_RUN)}


async def test_a_program_without_requests_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kapy.testing.conformance.command.PATIENCE", 0.5)
    with pytest.raises(SubjectError, match="KUBECONFIG"):
        await run_checks(program(tmp_path, "--no-ask"), BEHAVIOUR, light=True, timeouts=HASTE)


async def test_a_running_program_is_judged_by_the_objects_of_its_cluster(
    tmp_path: Path,
) -> None:
    provider = program(tmp_path)
    checks = [check for check in BEHAVIOUR if check.role in ("infra-machine", "clusterctl")]
    async with embedded(provider, clock=system_clock, light=True) as environment:
        assert environment.access is not None
        async with provider.launcher.running(environment, Limits()):
            there = replace(provider, launcher=AlreadyRunning())
            report = await run_checks_on_remote_cluster(there, checks, environment.access, HASTE)
        remaining = [
            document["metadata"]["name"]
            for document in (await environment.client.list(NAMESPACES)).items
        ]
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    passed = {item.rule.id for item in report.with_state(State.PASSED)}
    assert {"infra-machine/finalizer", "infra-machine/idle", "clusterctl/owners"} <= passed
    not_run = {item.rule.id: item.reason for item in report.with_state(State.NOT_RUN)}
    assert not_run["clusterctl/namespace-flag"] == "somebody else runs the provider"
    assert [item for item in remaining if item.startswith("conformance")] == []


async def test_leftovers_in_a_foreign_cluster_are_listed_with_a_command(tmp_path: Path) -> None:
    provider = program(tmp_path, "--cling")
    checks = [check for check in BEHAVIOUR if check.rule == "infra-cluster/watch"]
    haste = replace(HASTE, within=3)
    async with embedded(provider, clock=system_clock, light=True) as environment:
        assert environment.access is not None
        async with provider.launcher.running(environment, Limits()):
            there = replace(provider, launcher=AlreadyRunning())
            report = await run_checks_on_remote_cluster(there, checks, environment.access, haste)
    cluster, namespace = sorted(
        report.leftovers, key=lambda leftover: leftover.object, reverse=True
    )
    assert cluster.object.startswith("PlainCluster conformance-")
    assert "finalizer plain.example.dev/thing" in cluster.object
    assert "delete plainclusters.infrastructure.cluster.x-k8s.io worker-0" in cluster.remedy
    assert namespace.object.startswith("Namespace conformance-")
    assert namespace.remedy.startswith("kubectl delete namespace conformance-")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, INTERRUPTED_EXIT_CODE), (signal.SIGTERM, TERMINATED)]
)
async def test_a_run_that_is_terminated_removes_its_objects(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    cloud = tmp_path / "cloud"
    cloud.mkdir()
    kit = (sys.executable, "-m", "kapy.cli.main", "conformance", "run")
    place = release.write(tmp_path)
    process = await asyncio.create_subprocess_exec(
        *kit,
        *(str(place), "--variable", "SIZE=3", "--parallel", "4", "--"),
        *(*PROGRAM, "--cloud", str(cloud)),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    lines = []
    async with asyncio.timeout(60):
        while not list(cloud.iterdir()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # files have no events here
    process.send_signal(number)
    async with asyncio.timeout(60):
        lines = (await process.communicate())[1].decode().splitlines()
    assert process.returncode == code, lines
    assert list(cloud.iterdir()) == []
    assert "The provider needs room for 6 PlainCluster and 8 PlainMachine" in lines[0]
    assert not any("was not removed" in line for line in lines)


async def test_core_is_not_simulated_where_it_runs(tmp_path: Path) -> None:
    provider = replace(program(tmp_path), launcher=AlreadyRunning())
    async with management_plane(Settings(serving=Serving()), clock=system_clock) as plane:
        assert plane.kubeconfig is not None
        with pytest.raises(ConformanceError, match="core runs in this management cluster"):
            await run_checks_on_remote_cluster(provider, BEHAVIOUR, plane.kubeconfig, HASTE)
