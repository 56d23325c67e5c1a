"""An OCI registry as a source: tags are versions, layers with titles are files.

    oci://registry.example.com/providers/infrastructure-aws:v2.11.0
    oci://registry.example.com/providers/infrastructure-aws/v2.11.0/infrastructure-components.yaml

`latest`, or no tag, means the newest version; `oci+http://` is a registry without TLS. Artifacts of
Cluster API Operator are supported, including its file names (`controlplane-components.yaml`,
`components.yaml`, `infrastructure-aws-v2.11.0-metadata.yaml`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.oci.artifact import Descriptor, descriptors, titled_layers
from kapy.clusterctl.oci.credentials import credentials_of
from kapy.clusterctl.oci.registry import Registry
from kapy.clusterctl.provider import Provider
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.releases import LATEST, METADATA, newest_first, semantic
from kapy.clusterctl.repository.web import ServerUnreached, WebClient

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config

GENERIC: Final = "components.yaml"
_FORM: Final = (
    "invalid url: an OCI repository url should be in the form oci://{registry}/{name}:{version} "
    "or oci://{registry}/{name}/{version|latest}/{components.yaml}"
)


@dataclass(frozen=True, slots=True)
class OciSource:
    """The versions of one artifact, as a `Source`."""

    registry: Registry
    default: str
    components_file: str
    cache: Cache
    provider: Provider | None = None

    @property
    def place(self) -> str:
        return self.registry.place

    async def versions(self) -> list[str]:
        # Tags cannot contain `+`.
        tags = [tag.replace("_", "+") for tag in await self.registry.tags()]
        return newest_first(tags)[::-1]

    async def file(self, version: str, name: str) -> bytes:
        there = await self._titled_layers(version)
        for item in self._names(version, name):
            if item in there:
                return await self.registry.blob(there[item].digest)
        raise FileMissing(
            f'version {version} of {self.place} has no file "{name}"; it has '
            f"{', '.join(sorted(there)) or 'no files with names'}"
        )

    async def files(self, version: str) -> list[str]:
        there = await self._titled_layers(version)
        usual = (self.components_file, METADATA)
        result = [
            item for item in usual if any(name in there for name in self._names(version, item))
        ]
        return sorted({*there, *result})

    def _names(self, version: str, name: str) -> list[str]:
        """Return the possible names of a file, the most specific first."""
        if self.provider is None or name not in (METADATA, self.components_file):
            return [name]
        kind = operator_type(self.provider)
        full = f"{kind}-{self.provider.name}-{version}"
        if name == METADATA:
            return [f"{full}-{METADATA}", METADATA]
        return [f"{full}-{GENERIC}", name, f"{kind}-{GENERIC}", GENERIC]

    async def _titled_layers(self, version: str) -> dict[str, Descriptor]:
        async def ask() -> dict[str, Descriptor]:
            try:
                return await self._files_of(await self.registry.manifest(tag_of(version)))
            except FileMissing as error:
                raise FileMissing(f"there is no version {version}: {error}") from None
            except (LookupError, TypeError, AttributeError, ValueError) as error:
                raise ServerUnreached(
                    f"{self.place}:{version} is no artifact with files"
                ) from error

        return await self.cache.once((self.place, "titles", version), ask)

    async def _files_of(self, manifest: Mapping[str, Any]) -> dict[str, Descriptor]:
        if "manifests" not in manifest:
            return titled_layers(manifest)
        layers: dict[str, Descriptor] = {}
        for descriptor in descriptors(manifest["manifests"]):
            layers = titled_layers(await self.registry.manifest(descriptor.digest)) | layers
        return layers


def operator_type(provider: Provider) -> str:
    """Cluster API Operator's name of a provider type: `controlplane`."""
    return provider.type.value.removesuffix("Provider").lower()


def tag_of(version: str) -> str:
    """Return the tag of a version."""
    return version.replace("+", "_")


def oci_at(url: str, config: Config, provider: Provider | None) -> OciSource:
    """Return the artifact at a URL. Raises RepositoryError."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise RepositoryError(
            "credentials do not belong into the url of a registry: set OCI_USERNAME and "
            "OCI_PASSWORD"
        )
    name, version, file = _split_path(parts.path.strip("/"))
    if not parts.netloc or not name or "@" in name:
        raise RepositoryError(_FORM)
    if version != LATEST and semantic(version) is None:
        raise RepositoryError(f'invalid version: "{version}" is no semantic version; {_FORM}')
    base = f"{'http' if parts.scheme == 'oci+http' else 'https'}://{parts.netloc}"
    registry = Registry(base, name, WebClient(), credentials_of(config.variables))
    usual = provider.type.components_file if provider else GENERIC
    return OciSource(registry, version, file or usual, config.cache, provider)


def _split_path(path: str) -> tuple[str, str, str]:
    """Split into name, version and components file."""
    name, _, version = path.partition(":")
    if version:
        return name, version.replace("_", "+"), ""
    parts = path.split("/")
    if len(parts) > 2 and parts[-1].endswith((".yaml", ".yml")):
        return "/".join(parts[:-2]), parts[-2], parts[-1]
    return path, LATEST, ""
