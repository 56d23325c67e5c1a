"""A provider's components: all objects of its components file, ready to be installed.

Contract: "Components YAML" of the clusterctl provider contract; the changes on the way are its
"Components YAML transformations". `components_of` reads text, `read_components` a repository.
"""

from __future__ import annotations

from dataclasses import dataclass

from kapy.clusterctl.provider import Provider
from kapy.kube import Document


@dataclass(frozen=True)
class Components:
    """The components of one provider version, in the order in which they are applied."""

    provider: Provider
    version: str
    target_namespace: str
    """The one namespace of all namespaced objects; its Namespace is the first object."""
    variables: tuple[str, ...]
    """Names of the variables that the file has, sorted."""
    images: tuple[str, ...]
    """Images of Deployments and DaemonSets, after the overrides, in the order of the file."""
    objects: tuple[Document, ...]
    """First the Namespace, then cert-manager's objects, then the rest."""
    warnings: tuple[str, ...] = ()
    """Violations of contract rules that upstream does not enforce; a sentence each."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels that every object has."""
        return common_labels(self.provider)

    @property
    def inventory_object(self) -> Document:
        """The Provider object that records the installation (upstream: `InventoryObject`)."""
        return {
            "apiVersion": INVENTORY_VERSION,
            "kind": "Provider",
            "metadata": {
                "name": self.provider.label,
                "namespace": self.target_namespace,
                "labels": {**self.labels, CORE_LABEL: "inventory"},
            },
            "providerName": self.provider.name,
            "type": self.provider.type.value,
            "version": self.version,
        }


INVENTORY_VERSION = "clusterctl.cluster.x-k8s.io/v1alpha3"
CLUSTERCTL_LABEL = "clusterctl.cluster.x-k8s.io"
CORE_LABEL = "clusterctl.cluster.x-k8s.io/core"
PROVIDER_LABEL = "cluster.x-k8s.io/provider"


def common_labels(provider: Provider) -> dict[str, str]:
    """Return the labels that mark an object as installed by clusterctl, and for which provider."""
    return {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: provider.label}
