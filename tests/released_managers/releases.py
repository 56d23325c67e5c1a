"""Component files of providers: which there are, and what `kapy init` needs to install them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kapy.clusterctl.config.providers import predefined_providers
from kapy.clusterctl.metadata import metadata_of
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.variables import variables_of
from tests.oracle.recorded import PROVIDERS

FOLDER: Final = "KAPY_RELEASES"
FLAGS: Final = {
    ProviderType.CORE: "--core",
    ProviderType.BOOTSTRAP: "--bootstrap",
    ProviderType.CONTROL_PLANE: "--control-plane",
    ProviderType.INFRASTRUCTURE: "--infrastructure",
    ProviderType.IPAM: "--ipam",
    ProviderType.RUNTIME_EXTENSION: "--runtime-extension",
    ProviderType.ADDON: "--addon",
}
_VALUES: Final = {
    "EXP_": "false",
    "B64": "eA==",
    "BASE64": "eA==",
    "PORT": "9000",
    "REPLICAS": "1",
    "SECONDS": "10",
    "INTERVAL": "10s",
    "ENABLE": "false",
}
"""Values of variables without default, by a part of the name."""


@dataclass(frozen=True)
class Release:
    """The component file of one version of a provider."""

    provider: Provider
    components: Path

    @property
    def version(self) -> str:
        return self.components.parent.name

    @property
    def contract(self) -> str:
        """The contract that its metadata name."""
        content = (self.components.parent / "metadata.yaml").read_bytes()
        return metadata_of(content, self.provider.label).series_of(self.version).contract

    def __str__(self) -> str:
        return f"{self.provider.label} {self.version}"

    def arguments(self) -> Sequence[str]:
        """The flag of `kapy init` that installs it, and no other provider."""
        return FLAGS[self.provider.type], f"{self.provider.name}:{self.version}"

    def configuration(self) -> str:
        """The configuration file of clusterctl with its repository and values of its variables."""
        latest = self.components.parent.parent / "latest" / self.components.name
        own = {"name": self.provider.name, "url": str(latest), "type": self.provider.type.value}
        return json.dumps({"providers": [own], **self._values()})

    def _values(self) -> Mapping[str, str]:
        needed = variables_of(self.components.read_text())
        return {name: _value(name) for name, default in needed.items() if default is None}


def _value(name: str) -> str:
    return next((value for part, value in _VALUES.items() if part in name), "value")


def releases() -> list[Release]:
    """Those of `../shared` and of the folder that the environment names; empty without either."""
    return list({str(release): release for release in _releases()}.values())


def _releases() -> Iterator[Release]:
    own = os.environ.get(FOLDER)
    for folder in (PROVIDERS, *([Path(own)] if own else [])):
        for provider in predefined_providers():
            file = provider.url.rpartition("/")[2]
            for path in sorted(folder.glob(f"{provider.label}/v*/{file}")):
                yield Release(provider, path)
