"""Checks of a components file for contract rules that upstream does not enforce.

Each finding is a sentence for the user who installs the provider, or for the provider's author.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.components.images import MANAGER, has_manager
from kapy.clusterctl.components.namespace import qualified_name
from kapy.clusterctl.components.watching import watched_namespaces
from kapy.clusterctl.provider import Provider
from kapy.contract.resolve import crd_name
from kapy.kube import Document

AGGREGATED: Final = "cluster.x-k8s.io/aggregate-to-manager"
"""Label of ClusterRoles whose rules are aggregated to the core provider's role."""

_CONTRACT_LABELS: Final = tuple(f"cluster.x-k8s.io/{item}" for item in ("v1beta1", "v1beta2"))
_GRANTED: Final = frozenset(
    f"{item}.cluster.x-k8s.io" for item in ("bootstrap", "controlplane", "infrastructure")
)
"""API groups that the core provider can access without additional rules."""


def warnings_of(documents: Sequence[Document], provider: Provider) -> Iterator[str]:
    """The contract rules that the objects of a file violate, before any transformation."""
    if not any(map(has_manager, documents)):
        yield (
            f"{provider.label} has no Deployment with a container {MANAGER}, as the clusterctl "
            "contract asks for; nobody can tell which container is the provider"
        )
    yield from _namespaces(documents)
    yield from _labels(documents, provider)
    definitions = [document for document in documents if _has_contract(document)]
    yield from _names(definitions)
    yield from _versions(definitions)
    yield from _rights(documents, definitions, provider)


def _namespaces(documents: Sequence[Document]) -> Iterator[str]:
    """Yield a warning about each Deployment that watches one namespace: the contract allows one
    instance of a provider, for all namespaces.
    """
    for document in documents:
        for namespace in watched_namespaces(document):
            yield (
                f"{qualified_name(document)} would watch only the namespace {namespace}; "
                "clusterctl "
                "installs providers for all namespaces, so its --namespace is emptied"
            )


def _labels(documents: Sequence[Document], provider: Provider) -> Iterator[str]:
    """Yield a warning about objects without the provider's label, by which those are found that
    `kubectl apply` installed.
    """
    wrong = [
        document for document in documents if _label(document, PROVIDER_LABEL) != provider.label
    ]
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        yield (
            f"{qualified_name(wrong[0])}{more} should have the label "
            f"{PROVIDER_LABEL}={provider.label}, so "
            "that an installation by kubectl apply can be taken over"
        )


def _names(definitions: Sequence[Document]) -> Iterator[str]:
    """Yield a warning about each CRD whose name is not the one that Cluster API derives from group
    and kind.
    """
    for definition in definitions:
        spec, name = definition.get("spec") or {}, definition["metadata"].get("name", "")
        expected = crd_name(spec.get("group", ""), (spec.get("names") or {}).get("kind", ""))
        if name != expected:
            yield (
                f"CustomResourceDefinition {name} has to be called {expected}, or Cluster API "
                "does not find it"
            )


def _versions(definitions: Sequence[Document]) -> Iterator[str]:
    """Yield a warning about CRDs whose contract labels name no served version: core could not read
    their objects.
    """
    wrong = [
        definition
        for definition in definitions
        if not _named_versions(definition) & _served_versions(definition)
    ]
    if wrong:
        names = ", ".join(item["metadata"].get("name", "") for item in wrong)
        yield (
            f"the labels {' and '.join(_CONTRACT_LABELS)} of these CustomResourceDefinitions name "
            f"no version that they serve: {names}"
        )


def _named_versions(definition: Document) -> set[str]:
    return {part for label in _CONTRACT_LABELS for part in _label(definition, label).split("_")}


def _served_versions(definition: Document) -> set[str]:
    versions = (definition.get("spec") or {}).get("versions") or ()
    return {version["name"] for version in versions if version.get("served")}


def _rights(
    documents: Sequence[Document], definitions: Sequence[Document], provider: Provider
) -> Iterator[str]:
    """Yield a warning about missing rights of core: in a provider's own API groups it only has the
    rights that the provider grants."""
    specs = [
        definition["spec"] for definition in definitions if isinstance(definition.get("spec"), dict)
    ]
    groups = {str(spec.get("group") or "") for spec in specs}
    own = sorted(group for group in groups - _GRANTED if not group.endswith("cluster.x-k8s.io"))
    has_rights = any(
        document.get("kind") == "ClusterRole" and _label(document, AGGREGATED) == "true"
        for document in documents
    )
    if own and not has_rights:
        yield (
            f"{provider.label} has kinds of {', '.join(own)}, but no ClusterRole with the label "
            f'{AGGREGATED}: "true"; Cluster API may not be allowed to read them'
        )


def _has_contract(document: Document) -> bool:
    return document.get("kind") == "CustomResourceDefinition" and any(
        _label(document, label) for label in _CONTRACT_LABELS
    )


def _label(document: Document, name: str) -> str:
    labels = (document.get("metadata") or {}).get("labels") or {}
    return str(labels.get(name) or "")
