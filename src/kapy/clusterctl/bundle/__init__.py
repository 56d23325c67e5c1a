"""Bundles: providers, templates and image lists in one file, for installations without a network.

A bundle is an OCI image layout. Each version of a provider is an artifact with its files (see
`kapy.clusterctl.oci`). One more artifact lists all images with their digests; the images themselves
are mirrored with the usual tools. A loaded bundle becomes a folder repository and a configuration
file that refers to it, so that every tool, upstream's clusterctl included, works from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kapy.clusterctl.provider import Provider, ProviderType

CERT_MANAGER: Final = "cert-manager"
IMAGE_LIST: Final = "images.txt"


@dataclass(frozen=True)
class Release:
    """A version of a provider, or of cert-manager (then `provider` is None), with its files."""

    label: str
    version: str
    components_file: str
    files: Mapping[str, bytes]
    provider: Provider | None = None

    def __str__(self) -> str:
        return f"{self.label} {self.version}"


@dataclass(frozen=True)
class Bundle:
    """The content of a bundle: releases of providers, and names of images. images: the sorted
    names, with digests (`name:tag@sha256:…`) if known.
    """

    releases: tuple[Release, ...]
    images: tuple[str, ...]

    @property
    def without_digest(self) -> list[str]:
        """The images without a known digest."""
        return [image for image in self.images if "@" not in image]


def provider_of(label: str, name: str, kind: str) -> Provider | None:
    """Return the provider of an artifact in a bundle; None for cert-manager. Raises ValueError."""
    return None if label == CERT_MANAGER else Provider(name, ProviderType(kind), "")
