"""Providers: their types, their names, and what both are called elsewhere.

Upstream: `cmd/clusterctl/api/v1alpha3/provider_type.go`, and the clusterctl contract's table of
file names and labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ProviderType(Enum):
    """A type of provider, in the order of lists; the value is what the inventory says."""

    CORE = "CoreProvider"
    BOOTSTRAP = "BootstrapProvider"
    CONTROL_PLANE = "ControlPlaneProvider"
    INFRASTRUCTURE = "InfrastructureProvider"
    IPAM = "IPAMProvider"
    RUNTIME_EXTENSION = "RuntimeExtensionProvider"
    ADDON = "AddonProvider"

    @property
    def word(self) -> str:
        """How file names and labels begin: `control-plane`."""
        return _WORDS[self]

    @property
    def order(self) -> int:
        """Place in every list of providers."""
        return _ORDER[self]

    @property
    def components_file(self) -> str:
        """The usual name of the components file: `control-plane-components.yaml`."""
        return f"{self.word}-components.yaml"


@dataclass(frozen=True)
class Provider:
    """A provider that can be had: name (`kubeadm`), type, and where its releases are."""

    name: str
    type: ProviderType
    url: str

    @property
    def label(self) -> str:
        """Value of `cluster.x-k8s.io/provider`: `bootstrap-kubeadm`; of the core, `cluster-api`."""
        return manifest_label(self.name, self.type)

    @property
    def sort_key(self) -> tuple[int, str]:
        """By type, then by name."""
        return self.type.order, self.name


def manifest_label(name: str, provider_type: ProviderType) -> str:
    """What a provider is called in labels, folders and the inventory."""
    return name if provider_type is ProviderType.CORE else f"{provider_type.word}-{name}"


_WORDS = {
    ProviderType.CORE: "core",
    ProviderType.BOOTSTRAP: "bootstrap",
    ProviderType.CONTROL_PLANE: "control-plane",
    ProviderType.INFRASTRUCTURE: "infrastructure",
    ProviderType.IPAM: "ipam",
    ProviderType.RUNTIME_EXTENSION: "runtime-extension",
    ProviderType.ADDON: "addon",
}
_ORDER = {one: place for place, one in enumerate(ProviderType)}
