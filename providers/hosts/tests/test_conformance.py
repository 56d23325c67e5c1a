"""The provider keeps the contracts, and its release is one that users can install."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kapy_hosts import PROVIDER
from simulated_hosts import conformance_program

from kapy.apps.provider.release import write_release
from kapy.cli.conformance_run import run
from kapy.kube.yaml import dump
from kapy.sdk import Document, Right
from kapy.testing.provider import check_release

API = "infrastructure.cluster.x-k8s.io/v1alpha1"
EXAMPLES: list[Document] = [
    {"apiVersion": API, "kind": "HostCluster", "spec": {"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}}},
    {"apiVersion": API, "kind": "HostMachine", "spec": {"minCPUs": 2}},
    {"apiVersion": API, "kind": "HostMachinePool", "spec": {"template": {"minCPUs": 2}}},
]


def judged(examples: list[Document], folder: Path, *words: str) -> Result:
    """Judge the provider with the rights of its release, and that of adding Hosts."""
    inventory = Right("infrastructure.cluster.x-k8s.io", ("hosts",), ("create",))
    provider = replace(PROVIDER, rights=[*PROVIDER.rights, inventory])
    file = folder / "examples.yaml"
    file.write_text("---\n".join(dump(example | {"metadata": {"name": "example"}}) for example in examples))
    options = ["--examples", str(file), "--variable", "CONTROL_PLANE_ENDPOINT_HOST=10.0.0.100"]
    options += ["--in-process", "simulated_hosts.conformance_program:add_to", "--fail-on", "SHOULD", *words]
    conformance_program.DIALER.hosts.clear()
    release = write_release(provider, "v0.1.0", folder)
    return CliRunner().invoke(run, [str(release), *options], standalone_mode=False)


@pytest.mark.slow
def test_the_contracts_are_kept_with_no_more_rights_than_the_release_gives(tmp_path: Path) -> None:
    result = judged(EXAMPLES, tmp_path)
    assert result.return_value == 0, result.output
    assert "was never" not in result.output


@pytest.mark.slow
def test_clusters_machines_and_pools_survive_injected_faults(tmp_path: Path) -> None:
    result = judged(EXAMPLES, tmp_path, "--faults", "2")
    assert result.return_value == 0, result.output
    assert "was never" not in result.output


def test_the_release_can_be_installed(tmp_path: Path) -> None:
    check_release(PROVIDER, "v0.1.0", tmp_path)
