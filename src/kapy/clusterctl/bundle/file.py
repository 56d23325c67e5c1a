"""Bundles as files: writing, reading and checking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kapy.clusterctl.bundle import IMAGE_LIST, Bundle, Release, provider_of
from kapy.clusterctl.errors import BundleError
from kapy.clusterctl.oci.artifact import Artifact, pack
from kapy.clusterctl.oci.layout import REFERENCE, Layout, write
from kapy.clusterctl.repository.oci import GENERIC, operator_type, tag_of
from kapy.clusterctl.repository.releases import semantic
from kapy.kube.qualified_names import dns_label_errors

_ANNOTATION_PREFIX: Final = "kapy.cluster.x-k8s.io"
_LABEL: Final = f"{_ANNOTATION_PREFIX}/label"
_NAME: Final = f"{_ANNOTATION_PREFIX}/provider-name"
_TYPE: Final = f"{_ANNOTATION_PREFIX}/provider-type"
_VERSION: Final = f"{_ANNOTATION_PREFIX}/version"
_COMPONENTS: Final = f"{_ANNOTATION_PREFIX}/components-file"
_IMAGES_KIND: Final = "application/vnd.kapy.images.v1"


def save(bundle: Bundle, path: Path) -> None:
    """Write a bundle; the same bundle makes the same file. Raises BundleError."""
    images = pack(
        {IMAGE_LIST: "".join(f"{image}\n" for image in bundle.images).encode()}, kind=_IMAGES_KIND
    )
    artifacts = [(artifact_of(release), _annotations(release)) for release in bundle.releases]
    write(path, [*artifacts, (images, {REFERENCE: "images"})])


def open_bundle(path: Path) -> Bundle:
    """Read a bundle and check all of its content. Raises BundleError."""
    layout = Layout(path)
    releases, images = [], b""
    for entry in layout.entries:
        files = layout.files(entry)
        if _LABEL in entry.annotations:
            releases.append(_release(entry.annotations, files, path))
        else:
            images += files.get(IMAGE_LIST, b"")
    if not releases:
        raise BundleError(f"{path} is no bundle: it has no provider in it")
    return Bundle(tuple(releases), tuple(images.decode("utf-8", "replace").splitlines()))


def artifact_of(release: Release) -> Artifact:
    """Return the artifact of a release; its components file is also listed under the name that
    Cluster API Operator looks for.
    """
    also = {}
    if release.provider is not None:
        theirs = f"{operator_type(release.provider)}-{GENERIC}"
        if release.components_file != theirs:
            also = {theirs: release.components_file}
    return pack(release.files, also=also)


def _annotations(release: Release) -> Mapping[str, str]:
    provider = release.provider
    return {
        REFERENCE: f"{release.label}-{tag_of(release.version)}",
        _LABEL: release.label,
        _NAME: provider.name if provider else "",
        _TYPE: provider.type.value if provider else "",
        _VERSION: release.version,
        _COMPONENTS: release.components_file,
    }


def _release(annotations: Mapping[str, str], files: Mapping[str, bytes], path: Path) -> Release:
    try:
        label, version, components = (
            annotations[_LABEL],
            annotations[_VERSION],
            annotations[_COMPONENTS],
        )
        provider = provider_of(label, annotations[_NAME], annotations[_TYPE])
    except (KeyError, ValueError) as error:
        raise BundleError(f"{path} is no bundle: {error}") from error
    is_consistent = provider is None or provider.label == label
    if (
        dns_label_errors(label)
        or not is_consistent
        or not semantic(version)
        or components not in files
    ):
        raise BundleError(f"{path} is no bundle: {label} {version} is no release with its files")
    theirs = f"{operator_type(provider)}-{GENERIC}" if provider else ""
    own = {name: content for name, content in files.items() if name != theirs}
    return Release(label, version, components, {components: files[components], **own}, provider)
