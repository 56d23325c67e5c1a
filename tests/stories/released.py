"""Templates of a release of upstream's Docker provider, rendered as clusterctl renders them."""

from __future__ import annotations

from typing import Final

from kapy.clusterctl.envsubst import parse, substitute
from kapy.kube import Document, yaml
from tests.oracle.recorded import SAMPLES

RELEASE: Final = SAMPLES / "upstream" / "providers" / "infrastructure-docker" / "v1.14.0"
VALUES: Final = {
    "NAMESPACE": "default",
    "KUBERNETES_VERSION": "v1.34.0",
    "CONTROL_PLANE_MACHINE_COUNT": "1",
    "WORKER_MACHINE_COUNT": "3",
}


def released(name: str, **values: str) -> list[Document]:
    """The objects of a file, with values for its variables."""
    text = substitute(parse((RELEASE / name).read_text()), {**VALUES, **values})
    return [in_default(item) for item in yaml.load_all(text)]


def in_default(document: Document) -> Document:
    """Return a document with the namespace that `kubectl apply` would set."""
    metadata = {"namespace": "default", **document["metadata"]}
    return {**document, "metadata": metadata}


def without_external_patches(documents: list[Document]) -> list[Document]:
    """The same without the patches that an extension makes."""
    return [
        {
            **document,
            "spec": {name: value for name, value in document["spec"].items() if name != "patches"},
        }
        if document["kind"] == "ClusterClass"
        and any("external" in p for p in document["spec"]["patches"])
        else document
        for document in documents
    ]


def with_known_variables(cluster: Document, cluster_class: Document) -> Document:
    """The Cluster without values for variables that its class does not define: the release's
    template was written for another class of the same name."""
    names = {variable["name"] for variable in cluster_class["spec"]["variables"]}
    topology = cluster["spec"]["topology"]
    variables = [variable for variable in topology["variables"] if variable["name"] in names]
    return {
        **cluster,
        "spec": {**cluster["spec"], "topology": {**topology, "variables": variables}},
    }
