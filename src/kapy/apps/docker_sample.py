"""The sample Cluster of containers, with the Pod network of the node image.

Images are pulled before anything is applied, so that a missing engine or image is reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

from kapy.apps.manifests import read_manifests
from kapy.containers import Engine, NoSuchObject
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.gotemplate import BadTemplate, CannotRender, parse
from kapy.providers.docker.load_balancer_config import image_of
from kapy.providers.docker.node_images import node_image

SAMPLE: Final = "docker-cluster.yaml"
VERSION: Final = "v1.36.1"
"""Of Kubernetes in the sample: the newest whose node image is known by its digest."""
NETWORK_FILE: Final = "/kind/manifests/default-cni.yaml"
POD_CIDR: Final = "192.168.0.0/16"


class NoNetwork(KapyError):
    """The node image contains no usable Pod network."""


async def docker_sample(
    engine: Engine, version: str, report: Callable[[str], None]
) -> Sequence[Document]:
    """Return the objects of the sample, for a Kubernetes version. report: receives the progress of
    pulls.

    Raises EngineError, InvalidVersion and NoNetwork.
    """
    image = node_image(version).name
    for item in (image, image_of("", "")):
        await engine.ensure_image(item, report)
    network = await _network(engine, image)
    text = (files("kapy.apps") / "samples" / SAMPLE).read_text(encoding="utf-8")
    objects = read_manifests(text.replace(f"version: {VERSION}", f"version: {version}"), SAMPLE)
    config_map: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "capybara-network", "namespace": "default"},
        "data": {"network.yaml": network},
    }
    return [config_map, *objects]


async def _network(engine: Engine, image: str) -> str:
    """Return the manifest of the Pod network in a node image, adapted to the sample's addresses."""
    try:
        template = await engine.file_of_image(image, NETWORK_FILE)
    except NoSuchObject:
        raise NoNetwork(
            f"image {image} has no {NETWORK_FILE}, the Pod network of node images of kind: give "
            "the objects with --file, with a ClusterResourceSet for a network of your own"
        ) from None
    try:
        return parse(template.decode("utf-8"), name="default-cni").render({"PodSubnet": POD_CIDR})
    except (BadTemplate, CannotRender, UnicodeDecodeError) as error:
        raise NoNetwork(f"{NETWORK_FILE} of image {image} cannot be used: {error}") from None
