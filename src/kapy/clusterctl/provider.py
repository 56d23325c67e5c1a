"""Providers: their types and names, and the derived labels and file names.

Upstream: `cmd/clusterctl/api/v1alpha3/provider_type.go`, and the clusterctl contract's table of
file names and labels.
"""

from __future__ import annotations

from enum import Enum

from kapy._aio.dataclass import dataclass


class ProviderType(Enum):
    """A type of provider, in list order; the value is the type in the inventory."""

    CORE = "CoreProvider"
    BOOTSTRAP = "BootstrapProvider"
    CONTROL_PLANE = "ControlPlaneProvider"
    INFRASTRUCTURE = "InfrastructureProvider"
    IPAM = "IPAMProvider"
    RUNTIME_EXTENSION = "RuntimeExtensionProvider"
    ADDON = "AddonProvider"

    @property
    def word(self) -> str:
        """The prefix of file names and labels: `control-plane`."""
        return _WORDS[self]

    @property
    def order(self) -> int:
        """The position in lists of providers."""
        return _ORDER[self]

    @property
    def components_file(self) -> str:
        """The usual name of the components file: `control-plane-components.yaml`."""
        return f"{self.word}-components.yaml"


@dataclass(frozen=True)
class Provider:
    """A known provider: its name (`kubeadm`), type and the URL of its releases."""

    name: str
    type: ProviderType
    url: str

    @property
    def label(self) -> str:
        """The value of the label `cluster.x-k8s.io/provider`: `bootstrap-kubeadm`; `cluster-api`
        for core."""
        return manifest_label(self.name, self.type)

    @property
    def sort_key(self) -> tuple[int, str]:
        """The sort key of a provider: by type, then by name."""
        return self.type.order, self.name


def manifest_label(name: str, provider_type: ProviderType) -> str:
    """The name of a provider in labels, folders and the inventory."""
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
_ORDER = {provider_type: place for place, provider_type in enumerate(ProviderType)}
