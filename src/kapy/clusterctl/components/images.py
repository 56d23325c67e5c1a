"""Images of a provider's Deployments and DaemonSets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from kapy.clusterctl.components.typed import normalize
from kapy.clusterctl.errors import ClusterctlError, ComponentsError
from kapy.kube import Document

Image: TypeAlias = Callable[[str], str]
"""Returns the image to use in place of an image in the file."""

MANAGER: Final = "manager"
"""The container that runs the provider itself (contract: "Controllers & Watching namespace")."""

_WITH_PODS: Final = ("Deployment", "DaemonSet")


def rewrite(document: Document, image: Image) -> None:
    """Change the images of an object. Raises ComponentsError."""
    if document.get("kind") in _WITH_PODS:
        normalize(document)
    for container in containers(document):
        try:
            container["image"] = image(container.get("image", ""))
        except ClusterctlError as error:
            metadata = document.get("metadata") or {}
            raise ComponentsError(
                f"failed to fix image for container {container.get('name', '')} of "
                f"{document['kind']} {metadata.get('name', '')}: {error}"
            ) from error


def images_of(documents: Iterable[Document]) -> Iterator[str]:
    """All images, in the order of the objects, init containers after the others."""
    for document in documents:
        for container in containers(document):
            yield container.get("image", "")


def containers(document: Document) -> list[dict[str, Any]]:
    """Return the containers of a Deployment or DaemonSet, then its init containers."""
    if document.get("kind") not in _WITH_PODS:
        return []
    try:
        pod = document["spec"]["template"]["spec"]
        result = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    except (KeyError, TypeError, AttributeError):
        result = [None]
    texts = ("name", "image")
    if not all(isinstance(item, dict) for item in result) or not all(
        isinstance(item.get(name) or "", str) for item in result for name in texts
    ):
        name = (document.get("metadata") or {}).get("name", "")
        raise ComponentsError(
            f"{document['kind']} {name} has no spec.template.spec with a list of containers"
        )
    return result


def has_manager(document: Document) -> bool:
    """Return whether this is a Deployment with the container that runs the provider."""
    return document.get("kind") == "Deployment" and any(
        container.get("name") == MANAGER for container in containers(document)
    )
