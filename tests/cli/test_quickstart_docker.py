"""`kapy quickstart --infrastructure docker`, as far as it goes without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kapy.apps.docker_sample import NETWORK_FILE, SAMPLE, VERSION, NoNetwork, docker_sample
from kapy.cli.quickstart import DOCKER_VERSION
from kapy.containers import ImageUnavailable, NoSuchObject
from kapy.kube import Document
from kapy.providers.docker.load_balancer_config import image_of
from kapy.providers.docker.node_images import node_image
from kapy.testing.simulation.fake_engine import FakeEngine

NODE = node_image("v1.35.5").name
TEMPLATE = b"kind: ConfigMap\ndata: {subnet: {{ .PodSubnet }}}\n"


class Stocked(FakeEngine):
    """files: what is in the node image."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.registry = {NODE, image_of("", "")}
        self.files = files

    async def file_of_image(self, image: str, path: str) -> bytes:
        assert image in self.images
        if path not in self.files:
            raise NoSuchObject(f"no {path}")
        return self.files[path]


def of_kind(kind: str, objects: Sequence[Document]) -> list[Document]:
    return [obj for obj in objects if obj["kind"] == kind]


async def test_the_sample_has_the_version_and_the_network_of_its_image() -> None:
    messages: list[str] = []
    objects = await docker_sample(Stocked({NETWORK_FILE: TEMPLATE}), "v1.35.5", messages.append)
    (plane,) = of_kind("KubeadmControlPlane", objects)
    (workers,) = of_kind("MachineDeployment", objects)
    assert plane["spec"]["version"] == "v1.35.5"
    assert workers["spec"]["template"]["spec"]["version"] == "v1.35.5"
    (network,) = of_kind("ConfigMap", objects)
    assert network["data"]["network.yaml"] == ("kind: ConfigMap\ndata: {subnet: 192.168.0.0/16}\n")
    (resources,) = of_kind("ClusterResourceSet", objects)
    assert resources["spec"]["resources"][0]["name"] == network["metadata"]["name"]
    (cluster,) = of_kind("Cluster", objects)
    selected = resources["spec"]["clusterSelector"]["matchLabels"]
    assert selected.items() <= cluster["metadata"]["labels"].items()
    assert [text for text in messages if "pulling image kindest/node" in text]


async def test_an_image_without_a_network_is_explained() -> None:
    with pytest.raises(NoNetwork, match=r"has no /kind/manifests/default-cni\.yaml.*--file"):
        await docker_sample(Stocked({}), "v1.35.5", lambda _: None)
    with pytest.raises(NoNetwork, match="cannot be used"):
        await docker_sample(Stocked({NETWORK_FILE: b"{{ .Nope"}), "v1.35.5", lambda _: None)


async def test_an_image_that_cannot_be_pulled_is_explained() -> None:
    engine = Stocked({NETWORK_FILE: TEMPLATE})
    engine.registry.clear()
    with pytest.raises(ImageUnavailable, match="docker load"):
        await docker_sample(engine, "v1.35.5", lambda _: None)


def test_the_versions_are_the_same_everywhere() -> None:
    from kapy import apps

    text = (Path(apps.__file__).parent / "samples" / SAMPLE).read_text()
    assert text.count(f"version: {VERSION}\n") == 2
    assert VERSION == DOCKER_VERSION
    assert "@sha256:" in node_image(VERSION).name


def test_without_an_engine_a_remedy_is_shown(tmp_path: Path) -> None:
    from kapy.cli.quickstart import quickstart

    environment = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    arguments = ["--infrastructure", "docker", "--exit"]
    result = CliRunner().invoke(quickstart, arguments, env=environment)
    assert result.exit_code != 0
    assert "start Docker or Podman" in f"{result.output}{result.exception}"
    both = CliRunner().invoke(quickstart, [*arguments, "--file", "x.yaml"])
    assert "contradict each other" in both.output
