"""Collects the content of a bundle from the configured repositories, concurrently."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Final

from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.bundle import CERT_MANAGER, Bundle, Release
from kapy.clusterctl.components.images import images_of
from kapy.clusterctl.config import Config
from kapy.clusterctl.config.images import reference
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.manifests import objects_of
from kapy.clusterctl.oci.credentials import Credentials
from kapy.clusterctl.oci.registry import Registry
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.provider import ProviderType, Reference
from kapy.clusterctl.repository import repository_at, repository_of
from kapy.clusterctl.repository.releases import METADATA
from kapy.clusterctl.repository.web import WebClient
from kapy.clusterctl.variables import MissingVariables, replace_variables

_TEMPLATES: Final = ("cluster-template", "clusterclass-")
_DOCKER_HUB: Final = "docker.io"
_HUB_REGISTRY: Final = "registry-1.docker.io"


async def gather_bundle(
    requested: RequestedProviders,
    config: Config,
    progress: Progress,
    *,
    cert_manager: bool = True,
    digests: bool = True,
) -> Bundle:
    """Return the requested providers, the usual ones, and cert-manager.

    digests: ask the registries for the digests of images; an image keeps no digest if its registry
    does not answer. Raises ConfigError and RepositoryError.
    """
    works = [
        partial(_release, kind, wanted, config, progress)
        for kind, _, wanted in requested.with_defaults([]).references()
    ]
    if cert_manager:
        works.append(partial(_cert_manager, config, progress))
    releases = await bounded_gather(works)
    images = sorted({image for release in releases for image in _images(release, config)})
    if digests:
        progress("Asking registries for the digests of images")
        images = await bounded_gather(partial(_with_digest, image) for image in images)
    return Bundle(tuple(releases), tuple(images))


async def _release(
    kind: ProviderType, reference: Reference, config: Config, progress: Progress
) -> Release:
    provider = config.provider(reference.name, kind)
    repository = repository_of(provider, config)
    version = reference.version or await repository.default_version()
    components = repository.components_file
    wanted_files = {components, METADATA}
    if kind is ProviderType.INFRASTRUCTURE:  # only these repositories have templates
        wanted_files.update(filter(_is_template, await repository.files(version)))
    progress("Fetching", provider=provider.label, version=version)
    names = sorted(wanted_files)
    contents = await bounded_gather(partial(repository.file, version, name) for name in names)
    files = dict(zip(names, contents, strict=True))
    return Release(provider.label, version, components, files, provider)


async def _cert_manager(config: Config, progress: Progress) -> Release:
    version = config.cert_manager.version
    repository = repository_at(config.cert_manager.url, CERT_MANAGER, config)
    name = repository.components_file
    progress("Fetching", provider=CERT_MANAGER, version=version)
    return Release(CERT_MANAGER, version, name, {name: await repository.file(version, name)})


def _is_template(name: str) -> bool:
    return name.startswith(_TEMPLATES) and name.endswith((".yaml", ".yml"))


def _images(release: Release, config: Config) -> Iterable[str]:
    """The images of the components, with variables replaced as far as their values are known."""
    name = release.components_file
    text = release.files[name].decode("utf-8", "surrogateescape")
    for image in images_of(objects_of(text, f"{release}: {name}")):
        try:
            yield replace_variables(image, config.variables)
        except MissingVariables:
            yield image


async def _with_digest(image: str) -> str:
    with suppress(ClusterctlError):
        parts = reference(image)
        if not parts.digest:
            host, _, path = f"{parts.repository}/{parts.name}".partition("/")
            base = f"https://{_HUB_REGISTRY if host == _DOCKER_HUB else host}"
            registry = Registry(base, path, WebClient(pauses=()), Credentials())
            return f"{image}@{await registry.digest(parts.tag or 'latest')}"
    return image
