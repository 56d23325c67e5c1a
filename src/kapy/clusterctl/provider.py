"""Providers: their types and names, their labels and files, and references to them in flags.

Upstream: `cmd/clusterctl/api/v1alpha3/provider_type.go`, and the clusterctl contract's table of
file names and labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kapy.clusterctl.errors import ConfigError, FileMissing, RepositoryError
from kapy.clusterctl.repository.releases import Repository
from kapy.kube.qualified_names import dns_label_errors


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
    """Return the name of a provider in labels, folders and the inventory."""
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


class Reference(NamedTuple):
    """A provider's name, and its version or ""."""

    name: str
    version: str = ""


def parse_reference(text: str) -> Reference:
    """Parse a provider reference. Raises ConfigError (upstream: `parseProviderName`)."""
    form = f'invalid provider name "{text}". Provider name should be in the form name[:version]'
    name_part, colon, version = text.partition(":")
    if ":" in version:
        raise ConfigError(form)
    if not name_part:
        raise ConfigError(f"{form} and name cannot be empty")
    name = name_part.lower()
    if errors := dns_label_errors(name):
        raise ConfigError(f"{form} and the name should be valid: {'; '.join(errors)}")
    if colon and not version:
        raise ConfigError(f"{form} and version cannot be empty")
    return Reference(name, version)


def cluster_template(flavor: str = "") -> str:
    """Return the file name of the cluster template of a flavour; by default, of the default one."""
    return f"cluster-template-{flavor}.yaml" if flavor else "cluster-template.yaml"


def cluster_class(name: str) -> str:
    """Return the file name of a ClusterClass."""
    return f"clusterclass-{name}.yaml"


async def text_of(repository: Repository, version: str, name: str, label: str) -> str:
    """Return the text of a file; bytes that are not UTF-8 become surrogate escapes.

    label: the provider's name in errors. Raises RepositoryError.
    """
    try:
        content = await repository.file(version, name)
    except RepositoryError as error:
        result = f'failed to read "{name}" from provider\'s repository "{label}": {error}'
        kind = FileMissing if isinstance(error, FileMissing) else RepositoryError
        raise kind(result) from error
    return content.decode("utf-8", "surrogateescape")
