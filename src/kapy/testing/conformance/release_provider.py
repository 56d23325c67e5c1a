"""Build a provider under test from a release: its definitions, and examples of its kinds.

Examples come from the cluster templates and ClusterClasses of the release, or from files of the
user. Objects that core creates from templates are left out: the kit stands in for core.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kapy.api.names import CLUSTER_GROUP
from kapy.clusterctl.envsubst import BadSubstitution
from kapy.clusterctl.manifests import BadManifest, objects_of
from kapy.clusterctl.move.kinds import resource_of
from kapy.clusterctl.variables import MissingVariables, replace_variables
from kapy.kube import Document
from kapy.kube.names import CRDS, GroupKind, Resource, split_api_version
from kapy.kube.nested import value_at
from kapy.testing.conformance.definitions import TEMPLATE, Definition
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.files import File
from kapy.testing.conformance.provider_under_test import Kind, Launcher, ProviderUnderTest
from kapy.testing.conformance.release import Release
from kapy.testing.fake_core import KUBERNETES_VERSION

DEFAULTS: Final[Mapping[str, str]] = {
    "CLUSTER_NAME": "example",
    "NAMESPACE": "default",
    "KUBERNETES_VERSION": KUBERNETES_VERSION,
    "CONTROL_PLANE_MACHINE_COUNT": "1",
    "WORKER_MACHINE_COUNT": "1",
}
"""Default values of the variables in cluster templates."""
_INSTALLED: Final = (
    CRDS.kind,
    "Namespace",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
)
"""The kinds of components that are installed: no webhooks, since they could not be reached."""
_EXTRAS: Final = ("Secret", "ConfigMap")


def provider_of_release(
    release: Release,
    launcher: Launcher,
    variables: Mapping[str, str],
    example_files: Sequence[File] = (),
) -> ProviderUnderTest:
    """Return the provider of a release, with a launcher.

    variables: the values of the variables in its files; KUBERNETES_VERSION is also the version of
    all machines. example_files: more examples, which take precedence. Raises ConformanceError if
    files cannot be read or if there is nothing to check.
    """
    values = {**DEFAULTS, **variables}
    installed = [obj for file in release.components for obj in _objects(file, values)]
    documents, left_out = _documents_of(release, values, example_files)
    examples = dict(_examples(documents))
    definitions = [
        item for item in release.definitions if item.role is not None and item.readings_or_storage
    ]
    main = [item for item in definitions if not item.is_template]
    kinds = [_kind(item, definitions, examples) for item in main]
    results = tuple(item for item in kinds if item is not None)
    unseen: defaultdict[str, list[str]] = defaultdict(list)
    for definition, kind in zip(main, kinds, strict=True):
        if kind is None and definition.role is not None:
            unseen[definition.role.document].append(definition.kind)
    if unseen and left_out is not None:
        raise left_out
    if not results:
        raise ConformanceError(
            _nothing(release, [item for value in unseen.values() for item in value])
        )
    objects = [_without_conversion(item) for item in installed if item["kind"] in _INSTALLED]
    own = {GroupKind(item.group, item.kind) for item in release.definitions if item.role is None}
    extras = [document for document in documents if _is_extra(document, own)]
    return ProviderUnderTest(
        release.name,
        results,
        launcher,
        objects,
        extras,
        _account(installed),
        kinds_without_example=unseen,
        unreached=any(item["kind"].endswith("WebhookConfiguration") for item in installed),
        kubernetes_version=values["KUBERNETES_VERSION"],
    )


def _documents_of(
    release: Release, values: Mapping[str, str], example_files: Sequence[File]
) -> tuple[list[Document], ConformanceError | None]:
    """Return possible examples, and why a file of the release was left out, None if none was.

    Raises ConformanceError if a file of the user cannot be read.
    """
    documents = [obj for file in example_files for obj in _objects(file, values)]
    left_out: ConformanceError | None = None
    for file in (*release.templates, *release.classes):
        try:
            documents += _objects(file, values)
        except ConformanceError as error:
            left_out = left_out or error
    return documents, left_out


def _objects(file: File, values: Mapping[str, str]) -> list[Document]:
    try:
        return objects_of(replace_variables(file.text, values), file.name)
    except MissingVariables as error:
        names = " ".join(f"--variable {name}=…" for name in error.names)
        raise ConformanceError(f"{file.name} has variables without a value; add {names}") from None
    except (BadSubstitution, BadManifest) as error:
        raise ConformanceError(f"{file.name}: {error}") from None


def _nothing(release: Release, unseen: Sequence[str]) -> str:
    if not unseen:
        return (
            f"{release.name} has no CRD with a part that a contract describes: name the folder of "
            "the release, with its components file"
        )
    return (
        f"{release.name} has no example of {', '.join(unseen)}: name a folder with objects of "
        "these kinds by --examples, or a release with cluster-template.yaml"
    )


def _examples(documents: Iterable[Document]) -> Iterator[tuple[GroupKind, Document]]:
    """Return an example for each kind; the first one wins, and an object wins over a template."""
    examples: dict[GroupKind, Document] = {}
    for document in documents:
        group, _ = split_api_version(str(document.get("apiVersion", "")))
        examples.setdefault(GroupKind(group, str(document.get("kind"))), document)
    for (group, kind), document in list(examples.items()):
        if kind.endswith(TEMPLATE):
            inner = value_at(document, ("spec", "template"))
            if isinstance(inner, dict):
                main = GroupKind(group, kind.removesuffix(TEMPLATE))
                examples.setdefault(
                    main, {**_object_head(document, inner), "spec": inner.get("spec", {})}
                )
    return iter(examples.items())


def _object_head(template: Document, inner: Document) -> Document:
    kind = template["kind"].removesuffix(TEMPLATE)
    metadata = inner.get("metadata") if isinstance(inner.get("metadata"), dict) else {}
    return {"apiVersion": template["apiVersion"], "kind": kind, "metadata": metadata}


def _kind(
    definition: Definition,
    definitions: Sequence[Definition],
    examples: Mapping[GroupKind, Document],
) -> Kind | None:
    """Return the kind with its example; None if there is no example."""
    example = examples.get(GroupKind(definition.group, definition.kind))
    reading, role = definition.readings_or_storage, definition.role
    if example is None or reading is None or role is None:
        return None
    templates = (item for item in definitions if item.is_template and item.main == definition.kind)
    template = next((_resource(item) for item in templates), None)
    plain = {name: value for name, value in example.items() if name != "status"}
    return Kind(role.document, _resource(definition), plain, reading.contract, template)


def _resource(definition: Definition) -> Resource:
    """Return the resource in the version that core reads."""
    stored = resource_of(definition.object.document)
    version = (
        definition.readings_or_storage.version if definition.readings_or_storage else stored.version
    )
    return Resource(stored.group, version, stored.plural, stored.kind, namespaced=stored.namespaced)


def _without_conversion(document: Document) -> Document:
    """Return a CRD without conversion webhooks, which could not be reached."""
    if document["kind"] != CRDS.kind:
        return document
    spec = {name: value for name, value in document["spec"].items() if name != "conversion"}
    return {**document, "spec": spec}


def _is_extra(document: Document, own: set[GroupKind]) -> bool:
    """Return whether examples may refer to the object: a Secret, or another object of the
    provider.
    """
    group, _ = split_api_version(str(document.get("apiVersion", "")))
    if group.endswith(CLUSTER_GROUP) and GroupKind(group, document["kind"]) not in own:
        return False
    return document["kind"] in _EXTRAS or GroupKind(group, document["kind"]) in own


def _account(installed: Sequence[Document]) -> str:
    """Return the user name of the manager, "" if the components grant it no rights."""
    for item in installed:
        if item["kind"] == "Deployment":
            name = value_at(item, ("spec", "template", "spec", "serviceAccountName"))
            namespace = item["metadata"].get("namespace", "")
            bindings = [element for element in installed if element["kind"].endswith("RoleBinding")]
            if name and namespace and bindings:
                return f"system:serviceaccount:{namespace}:{name}"
    return ""
