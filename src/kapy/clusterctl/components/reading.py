"""Converts the components file of a provider into the objects that are applied or printed.

Upstream: `NewComponents` in `cmd/clusterctl/client/repository/components.go`, and
`cmd/clusterctl/client/generate_provider.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.clusterctl.components import Components, common_labels
from kapy.clusterctl.components.checks import warnings_of
from kapy.clusterctl.components.images import images_of, rewrite
from kapy.clusterctl.components.namespace import move_to
from kapy.clusterctl.components.watching import watch_everything
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import ComponentsError, MetadataError
from kapy.clusterctl.manifests import objects_of
from kapy.clusterctl.metadata import read_metadata
from kapy.clusterctl.provider import Provider, text_of
from kapy.clusterctl.repository import repository_of
from kapy.clusterctl.repository.releases import Repository
from kapy.clusterctl.variables import MissingVariables, replace_variables, variables_of
from kapy.kube import Document

_CONTRACTS: Final = ("v1beta1", "v1beta2")
"""The Cluster API contracts that providers may support."""


async def read_components(
    repository: Repository,
    provider: Provider,
    config: Config,
    *,
    version: str = "",
    namespace: str = "",
    substitute: bool = True,
) -> Components:
    """Return the components of a provider version; by default, of its default version.

    namespace, substitute: as for `components_of`. Raises RepositoryError and the errors of
    `components_of`.
    """
    version = version or await repository.default_version()
    name = repository.components_file
    text = await text_of(repository, version, name, provider.label)
    return components_of(
        text, provider, version, config, namespace=namespace, substitute=substitute, source=name
    )


def components_of(
    text: str,
    provider: Provider,
    version: str,
    config: Config,
    *,
    namespace: str = "",
    substitute: bool = True,
    source: str = "",
) -> Components:
    """Return the components in the text of a file.

    namespace: the target namespace, instead of the file's Namespace. substitute: False keeps the
    variables unreplaced. source: the name of the file in errors. Raises ComponentsError,
    BadSubstitution, BadManifest, ConfigError.
    """
    variables = variables_of(text)
    documents = objects_of(_substitute(text, config) if substitute else text, source)
    try:
        warnings = tuple(warnings_of(documents, provider))
    except (AttributeError, TypeError, KeyError):
        raise ComponentsError(
            f"{source}: a CustomResourceDefinition has no spec with group, names and versions"
        ) from None
    for document in documents:
        rewrite(document, lambda image: config.images.override(provider.label, image))
    images = tuple(images_of(documents))
    namespace = _target(documents, namespace)
    for document in documents:
        move_to(document, namespace)
        watch_everything(document)
        _label(document, provider)
    return Components(
        provider=provider,
        version=version,
        target_namespace=namespace,
        variables=tuple(variables),
        images=images,
        objects=tuple(_sort(documents)),
        warnings=warnings,
    )


def _substitute(text: str, config: Config) -> str:
    try:
        return replace_variables(text, config.variables)
    except MissingVariables as error:
        raise ComponentsError(f"failed to perform variable substitution: {error}") from error


def _target(documents: list[Document], wanted: str) -> str:
    """Return the target namespace; a Namespace object is added if the file has none."""
    own = [document for document in documents if document.get("kind") == "Namespace"]
    if len(own) > 1:
        names = ", ".join((item.get("metadata") or {}).get("name", "") for item in own)
        raise ComponentsError(
            "failed to detect default target namespace: Invalid manifest. There should be no more "
            "than one resource with Kind Namespace in the provider components yaml, and there are "
            f"{len(own)}: {names}"
        )
    namespace: str = wanted or ((own[0].get("metadata") or {}).get("name", "") if own else "")
    if not namespace:
        raise ComponentsError(
            "target namespace can't be defaulted. Please specify a target namespace (the "
            "components have no Namespace; --target-namespace names one)"
        )
    if not own:
        documents.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return namespace


def _label(document: Document, provider: Provider) -> None:
    metadata = document.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **common_labels(provider)}


def _sort(documents: Iterable[Document]) -> list[Document]:
    """Return the Namespace first, then cert-manager's objects, then all others in file order.

    So cert-manager sees a Certificate before the objects into which its CA is injected.
    cert-manager's objects are in reverse file order, as in upstream's output, whose sort has this
    effect.
    """
    first, of_cert_manager, rest = [], [], []
    for document in documents:
        if document.get("kind") == "Namespace":
            first.append(document)
        elif _group(document) == "cert-manager.io":
            of_cert_manager.append(document)
        else:
            rest.append(document)
    return [*first, *reversed(of_cert_manager), *rest]


def _group(document: Document) -> str:
    return str(document.get("apiVersion", "")).rpartition("/")[0]


async def generate_components(
    provider: Provider,
    version: str,
    config: Config,
    *,
    namespace: str = "",
    substitute: bool = True,
) -> Components:
    """Return the components of a version ("": the default one) that supports a contract kapy knows.

    Raises ClusterctlError.
    """
    repository = repository_of(provider, config)
    version = version or await repository.default_version()
    metadata = await read_metadata(repository, provider.label, version)
    contract = metadata.series_of(version).contract
    if contract not in _CONTRACTS:
        raise MetadataError(
            "current version of clusterctl is only compatible with provider implementing "
            f"{', '.join(_CONTRACTS)} contract versions, detected {contract} for provider "
            f"{provider.name}"
        )
    return await read_components(
        repository, provider, config, version=version, namespace=namespace, substitute=substitute
    )
