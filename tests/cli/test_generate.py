"""`generate` from the outside: what it prints, where it writes, what it refuses."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kapy.cli.root import run
from kapy.clusterctl.provider import ProviderType
from tests.clusterctl.releases import Releases

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "${CLUSTER_NAME}"}
data:
  version: ${KUBERNETES_VERSION}
  machines: ${CONTROL_PLANE_MACHINE_COUNT}+${WORKER_MACHINE_COUNT}
  size: ${SIZE:=a "small" one}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a template and its configuration, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    releases = Releases(tmp_path)
    releases.config()
    (tmp_path / "infrastructure-acme" / "v1.0.0" / "cluster-template.yaml").write_text(TEMPLATE)
    return tmp_path


def generate(*arguments: str) -> int:
    return run(["generate", *arguments, "--config", "clusterctl.yaml"])


CLUSTER = ("cluster", "c", "-i", "acme:v1.0.0", "-n", "ns")


def test_a_cluster_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = ("--controlplane-machine-count", "3", "--worker-machine-count=2")
    assert generate(*CLUSTER, "--kubernetes-version", "v1.34.0", *counts) == 0
    assert capsys.readouterr().out == (
        "apiVersion: v1\n"
        "data:\n"
        "  machines: 3+2\n"
        '  size: a "small" one\n'
        "  version: v1.34.0\n"
        "kind: ConfigMap\n"
        "metadata:\n"
        "  name: c\n"
        "  namespace: ns\n"
    )


def test_variables_are_listed_the_required_ones_first(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_MACHINE_COUNT", "5")
    assert generate(*CLUSTER, "--list-variables") == 0
    assert capsys.readouterr().out == (
        "Required Variables:\n"
        "  - KUBERNETES_VERSION\n"
        "\n"
        "Optional Variables:\n"
        "  - CLUSTER_NAME                 (defaults to c)\n"
        "  - CONTROL_PLANE_MACHINE_COUNT  (defaults to 1)\n"
        '  - SIZE                         (defaults to "a \\"small\\" one")\n'
        "  - WORKER_MACHINE_COUNT         (defaults to 5)\n"
        "\n"
    )


def test_a_file_can_be_read_by_its_owner_only(folder: Path) -> None:
    version = ("--kubernetes-version", "v1.34.0")
    assert generate(*CLUSTER, *version, "--write-to", "out.yaml") == 0
    written = folder / "out.yaml"
    assert written.read_text().startswith("apiVersion: v1\n")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_a_provider_is_described(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate("provider", "--infrastructure", "acme", "--describe") == 0
    assert capsys.readouterr().out == (
        "Name:               acme\n"
        "Type:               InfrastructureProvider\n"
        f"URL:                {folder}/infrastructure-acme/\n"
        "Version:            v1.0.0\n"
        "File:               infrastructure-components.yaml\n"
        "TargetNamespace:    infrastructure-acme-system\n"
        "Images:\n"
        "  - registry.example/acme:v1.0.0\n"
        "\n"
    )


def test_a_provider_is_described_with_its_variables(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = folder / "infrastructure-acme" / "v1.0.0" / "infrastructure-components.yaml"
    release.write_text(
        f"{release.read_text()}\n---\n{TEMPLATE.replace('CLUSTER_NAME', 'ACME_ZONE')}"
    )
    assert generate("provider", "--infrastructure", "acme", "--describe") == 0
    message = capsys.readouterr().out
    assert "Variables:\n  - ACME_ZONE\n  - CONTROL_PLANE_MACHINE_COUNT\n" in message


def test_warnings_of_components_do_not_disturb_their_yaml(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}]
    releases = Releases(folder / "more")
    releases.add("bare", ProviderType.ADDON, "v1.0.0", objects=objects)
    config = ["--config", str(folder / "more" / "clusterctl.yaml")]
    releases.config()
    assert run(["generate", "provider", "--addon", "bare:v1.0.0", *config]) == 0
    warnings = capsys.readouterr()
    assert warnings.out.startswith("apiVersion: v1\nkind: Namespace\n")
    assert warnings.err.startswith("Warning: addon-bare has no Deployment with a container manager")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cluster",), "please specify a cluster name"),
        (CLUSTER, "value for variables [KUBERNETES_VERSION] is not set"),
        ((*CLUSTER, "--from", "x"), "only one template can be used at time"),
        ((*CLUSTER, "--from-config-map", "x"), "only one template can be used at time"),
        (("cluster", "c", "-n", "ns"), "Cannot auto-discover default infrastructure provider"),
        (("cluster", "c"), "Cannot auto-discover target namespace"),
        (("provider",), "at least one of --core, --bootstrap"),
        (("provider", "--core", "a", "-i", "b"), "only one of --core, --bootstrap"),
        (("provider", "-i", "acne"), "with name acne"),
        (("provider", "-i", "acme:v9.0.0"), 'failed to read "metadata.yaml" from the repository'),
        (("provider", "-i", "a" * 64), "must be no more than 63 characters"),
        (
            ("provider", "-i", "acme", "--write-to", "no/such/file"),
            "failed to write to destination file: open no/such/file: no such file or directory",
        ),
        (("yaml", "--from", "none.yaml"), 'failed to read file "none.yaml"'),
    ],
)
def test_a_template_that_cannot_be_generated_is_one_sentence_and_exit_code_1(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert generate(*arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert message in error
    assert len(error.strip().splitlines()) == 1


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me, namespace: ns}}]
clusters: [{name: here, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: me, user: {}}]
"""


@pytest.mark.sockets
@pytest.mark.parametrize(
    "arguments",
    [
        ("-i", "acme"),
        ("-i", "acme:v1.0.0", "--kubeconfig", "kubeconfig"),
        ("--from-config-map", "templates"),
    ],
)
def test_a_management_cluster_that_cannot_be_reached_is_reported(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.setattr("kapy.clusterctl.retry.PAUSES", (0.0,))
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    (folder / "kubeconfig").write_text(KUBECONFIG)
    assert generate("cluster", "c", "--kubernetes-version", "v1.34.0", *arguments) == 1
    assert "cannot reach 127.0.0.1:1: Connection refused" in capsys.readouterr().err


def test_a_full_disk_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate("provider", "-i", "acme", "--write-to", "/dev/full") == 1
    assert "open /dev/full: no space left on device" in capsys.readouterr().err
