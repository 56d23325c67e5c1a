"""The configuration of a worker process crosses unchanged."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from kapy.api.features import FeatureGates
from kapy.apps.settings import ControllerConfig, ExtensionCalls
from kapy.apps.workers.configuration import WorkerConfig, decode, encode, process_count
from kapy.engine.options import ManagerOptions
from kapy.kube.regexp import compile_pattern


def test_a_configuration_is_transferred_unchanged() -> None:
    controllers = ControllerConfig(
        manager=ManagerOptions(
            namespace="a",
            watch_filter="b",
            sync_period=timedelta(minutes=7),
            concurrency={"machine": 3},
            gates=FeatureGates(runtime_sdk=True, machine_pool=False),
        ),
        connection_grace=timedelta(seconds=3.5),
        preflight_checks=("KubeadmVersionSkew",),
        machine_labels=(compile_pattern("^team/.*$"),),
        extensions=ExtensionCalls(certificate=Path("/a/b"), key=Path("/a/c")),
        disabled_managers=frozenset({"infrastructure-dev"}),
        skipped_migration_phases=frozenset(),
    )
    config = WorkerConfig(slot=2, processes=3, controllers=controllers, sockets=True, log_level=20)
    there = decode(encode(config))
    assert there.name == "worker-2"
    assert there.controllers.machine_labels[0].text == "^team/.*$"
    assert there.controllers.machine_labels[0].matches("team/x")
    assert encode(there) == encode(config)
    assert there.controllers.manager == controllers.manager
    assert there.controllers.extensions == controllers.extensions
    assert there.controllers.disabled_managers == {"infrastructure-dev"}


def test_a_number_of_processes_is_used_unchanged() -> None:
    assert process_count(5) == 5
    assert 1 <= process_count("auto") <= 3
