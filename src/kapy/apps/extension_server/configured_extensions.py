"""The extensions that a plane is configured with at its start, and their registration.

Their registrations carry a label. At its next start, the plane deletes those that are no longer
configured, so that nothing waits for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from kapy.api.extension_config import ExtensionConfig
from kapy.apps.extension_server.manifest import extension_config
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

LABEL: Final = "kapy.cluster.x-k8s.io/registered-by"
REGISTERED_BY: Final = "kapy-up"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MODULE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*)?")


class BadExtension(KapyError):
    """The text is neither a URL nor a module."""


@dataclass(frozen=True, slots=True)
class ConfiguredExtension:
    """A runtime extension that a plane is configured with.

    target: the URL of the extension, or `MODULE:NAME` of an extension in Python. ca: the CA (PEM)
    that verifies the server at the URL.
    """

    name: str
    target: str
    ca: bytes = b""

    @property
    def is_module(self) -> bool:
        return "://" not in self.target


def parse_extension(text: str, ca: bytes = b"") -> ConfiguredExtension:
    """Parse an extension of the form `[NAME=]URL|MODULE[:ATTRIBUTE]`. Raises BadExtension."""
    name, separator, place = text.partition("=")
    if not separator or "://" in name:
        name, place = "", text
    if "://" in place:
        check_url(place)
    elif not _MODULE.fullmatch(place):
        raise BadExtension(
            f'"{place}" is neither an https:// URL nor a Python module (MODULE or MODULE:NAME)'
        )
    name = name or _default_name(place)
    if not _NAME.fullmatch(name) or len(name) > 63:
        raise BadExtension(
            f'"{name}" cannot be the name of an extension (lower case letters, digits and hyphens);'
            f" choose one: NAME={place}"
        )
    return ConfiguredExtension(name, place, b"" if "://" not in place else ca)


def check_url(url: str) -> None:
    """Check that a URL can be that of an extension. Raises BadExtension."""
    if urlsplit(url).scheme != "https" or not urlsplit(url).hostname:
        raise BadExtension(f'"{url}" cannot be called: extensions have https:// URLs')


def _default_name(place: str) -> str:
    name = urlsplit(place).netloc if "://" in place else place.partition(":")[0].rpartition(".")[2]
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


async def delete_registrations_except(client: Client, names: Collection[str]) -> None:
    """Delete registrations of an earlier start that are no longer configured. Raises ApiError."""
    listed = await client.list(ExtensionConfig.RESOURCE, labels=f"{LABEL}={REGISTERED_BY}")
    for item in listed.items:
        if item["metadata"]["name"] not in names:
            await client.delete(ExtensionConfig.RESOURCE, Key.of(item))


async def register(client: Client, manifest: Document) -> None:
    """Create or update an ExtensionConfig. Raises ApiError."""
    metadata = {**manifest["metadata"], "labels": {LABEL: REGISTERED_BY}}
    document = {**manifest, "metadata": metadata}
    await client.apply(ExtensionConfig.RESOURCE, document, field_manager=REGISTERED_BY)


def url_manifest(extension: ConfiguredExtension) -> Document:
    """Return the manifest of an extension that runs elsewhere."""
    return extension_config(extension.name, extension.target, extension.ca)
