"""A release of kapy's own managers, as folders that kapy and clusterctl install from.

    <folder>/cluster-api/v1.14.0/
        metadata.yaml  core-components.yaml  runtime-sdk-openapi.yaml
    <folder>/bootstrap-kubeadm/v1.14.0/
        metadata.yaml  bootstrap-components.yaml
    <folder>/control-plane-kubeadm/v1.14.0/
        metadata.yaml  control-plane-components.yaml
    <folder>/infrastructure-docker/v1.14.0/
        metadata.yaml  infrastructure-components.yaml
        cluster-template.yaml  cluster-template-topology.yaml  clusterclass-meadow.yaml

The version is that of Cluster API which these are: providers' contracts and upgrades go by it.
Contract: "Provider repositories" of the clusterctl provider contract.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from kapy import CLUSTER_API
from kapy.apps.manager.components import IMAGE, components_of
from kapy.apps.manager.programs import PROGRAMS
from kapy.apps.manifests import class_sample
from kapy.clusterctl.components import INVENTORY_VERSION
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.yaml import dump, dump_all

FILES: Final = {
    "core": "core-components.yaml",
    "bootstrap-kubeadm": "bootstrap-components.yaml",
    "control-plane-kubeadm": "control-plane-components.yaml",
    "infrastructure-dev": "infrastructure-components.yaml",
}
"""Names of components files."""
CLASS: Final = "meadow"
"""The ClusterClass of the sample."""
_FIRST_V1BETA2_MINOR: Final = 11


class CannotRelease(KapyError):
    """The release cannot be written; the message gives the reason."""


def files_of(name: str, image: str = IMAGE, engine_socket: str = "") -> dict[str, str]:
    """Return the text of each file of one manager's release, by the file's name."""
    return {
        "metadata.yaml": dump(_metadata()),
        FILES[name]: dump_all(components_of(name, image, engine_socket)),
        **_additional_files(name),
    }


def write_release(name: str, folder: Path, image: str = IMAGE, engine_socket: str = "") -> Path:
    """Write `<label>/<version>/` below a folder, and return it. Raises CannotRelease."""
    place = folder / PROGRAMS[name].provider / CLUSTER_API
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file, text in files_of(name, image, engine_socket).items():
            (place / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotRelease(f"cannot write {place}: {error.strerror or error}") from None
    return place


def _metadata() -> Document:
    """Return the contract of each release series of Cluster API."""
    newest = int(CLUSTER_API.split(".")[1])
    series = [
        {
            "major": 1,
            "minor": minor,
            "contract": "v1beta2" if minor >= _FIRST_V1BETA2_MINOR else "v1beta1",
        }
        for minor in range(newest, -1, -1)
    ]
    return {"apiVersion": INVENTORY_VERSION, "kind": "Metadata", "releaseSeries": series}


def _additional_files(name: str) -> dict[str, str]:
    if name == "core":
        from kapy.hooks.catalog import full_catalog  # imports all hooks; only this needs them
        from kapy.hooks.openapi.document import openapi

        return {"runtime-sdk-openapi.yaml": dump(openapi(full_catalog(), CLUSTER_API))}
    if name == "infrastructure-dev":
        return {**_templates(), f"clusterclass-{CLASS}.yaml": dump_all(_class())}
    return {}


def _templates() -> dict[str, str]:
    folder = files("kapy.apps") / "samples" / "release"
    paths = sorted(folder.iterdir(), key=lambda path: path.name)
    return {item.name: item.read_text("utf-8") for item in paths}


def _class() -> list[Document]:
    """Return the sample's class, without a namespace: the user chooses one at installation."""
    return [_without_namespace(item) for item in class_sample() if item["kind"] != "Cluster"]


def _without_namespace(document: Document) -> Document:
    metadata = {key: value for key, value in document["metadata"].items() if key != "namespace"}
    return {**document, "metadata": metadata}
