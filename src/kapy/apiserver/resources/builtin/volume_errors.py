"""Validation of the sources of volumes.

Of the sources that Kubernetes' own drivers once served, only the common ones are validated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kapy.apiserver.resources.builtin.file_paths import (
    descending_path_errors,
    local_path_errors,
    mode_errors,
    no_backstep_errors,
)
from kapy.kube import Document, quantity
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required
from kapy.kube.qualified_names import dns_subdomain_errors

_HOST_PATHS: Final = [
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate"),
    *("File", "FileOrCreate", "Socket"),
]
_SHORTEST, _LONGEST = 600, 1 << 32
_FIELDS_OF_POD: Final = [
    f"metadata.{name}" for name in ("annotations", "labels", "name", "namespace", "uid")
]
_LONGEST_DRIVER: Final = 63


def source_errors(volume: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a volume's source."""
    sources = [name for name in _ORDER if volume.get(name) is not None]
    for number, name in enumerate(sources):
        if number:
            yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
        elif name in _CHECKS:
            yield from _CHECKS[name](volume[name], f"{path}.{name}")
    if not sources:
        yield required(path, "must specify a volume type")


def _empty_dir(source: Document, path: str) -> Iterator[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and quantity.compare(limit, "0") < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: Document, path: str) -> Iterator[FieldError]:
    place, kind = source.get("path") or "", source.get("type")
    if not place:
        yield required(f"{path}.path")
        return
    yield from no_backstep_errors(place, f"{path}.path")
    if kind is not None and kind not in _HOST_PATHS:
        yield not_supported(f"{path}.type", kind, _HOST_PATHS)


def _git_repo(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("repository"):
        yield required(f"{path}.repository")
    yield from descending_path_errors(source.get("directory") or "", f"{path}.directory")


def _secret(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _keys(source, path)


def _config_map(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _keys(source, path)


def _keys(source: Document, path: str) -> Iterator[FieldError]:
    for index, item in enumerate(source.get("items") or ()):
        where, place = f"{path}.items[{index}]", item.get("path") or ""
        if not item.get("key"):
            yield required(f"{where}.key")
        if not place:
            yield required(f"{where}.path")
        yield from local_path_errors(place, f"{where}.path")
        yield from mode_errors(item.get("mode"), f"{where}.mode")


def _nfs(source: Document, path: str) -> Iterator[FieldError]:
    place = source.get("path") or ""
    if not source.get("server"):
        yield required(f"{path}.server")
    if not place:
        yield required(f"{path}.path")
    if not place.startswith("/"):
        yield invalid(f"{path}.path", place, "must be an absolute path")


def _claim(source: Document, path: str) -> Iterator[FieldError]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _csi(source: Document, path: str) -> Iterator[FieldError]:
    driver, where = source.get("driver") or "", f"{path}.driver"
    if not driver:
        yield required(where)
        return
    if len(driver) > _LONGEST_DRIVER:
        text = f"may not be more than {_LONGEST_DRIVER} bytes"
        yield FieldError("FieldValueTooLong", where, text)
    yield from (invalid(where, driver, text) for text in dns_subdomain_errors(driver.lower()))
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name") or ""
    if not name:
        yield required(f"{path}.nodePublishSecretRef.name")
        return
    yield from (invalid(f"{path}.name", name, text) for text in dns_subdomain_errors(name))


def _downward(source: Document, path: str) -> Iterator[FieldError]:
    yield from mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        yield from _file(item, path)


def _file(value: Document, path: str) -> Iterator[FieldError]:
    place, field, resource = (
        value.get("path") or "",
        value.get("fieldRef"),
        value.get("resourceFieldRef"),
    )
    if not place:
        yield required(f"{path}.path")
    yield from local_path_errors(place, f"{path}.path")
    if field is not None:
        yield from _field(field, f"{path}.fieldRef")
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", text)
    elif resource is None:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from mode_errors(value.get("mode"), f"{path}.mode")


def _field(field: Document, path: str) -> Iterator[FieldError]:
    if not field.get("apiVersion"):
        yield required(f"{path}.apiVersion")
    elif not field.get("fieldPath"):
        yield required(f"{path}.fieldPath")
    elif field["fieldPath"].partition("[")[0] not in _FIELDS_OF_POD:
        yield not_supported(f"{path}.fieldPath", field["fieldPath"], _FIELDS_OF_POD)


def _projected_volume_errors(source: Document, path: str) -> Iterator[FieldError]:
    yield from mode_errors(source.get("defaultMode"), f"{path}.defaultMode")
    places: set[str] = set()
    for index, item in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        yield from _projection(item, where, path, places)
        if sum(item.get(name) is not None for name in _PROJECTED) > 1:
            yield forbidden(where, "may not specify more than 1 volume type")


def _projection(value: Document, where: str, path: str, places: set[str]) -> Iterator[FieldError]:
    for field in ("secret", "configMap"):
        if (part := value.get(field)) is not None:
            name = part.get("name") or ""
            if not name:
                yield required(f"{where}.{field}.name")
            yield from _keys(part, f"{where}.{field}")
            for item in part.get("items") or ():
                yield from _again(item.get("path"), name, places, path)
    if (part := value.get("downwardAPI")) is not None:
        for item in part.get("items") or ():
            yield from _file(item, f"{where}.downwardAPI")
            yield from _again(item.get("path"), item.get("path"), places, path)
    if (part := value.get("serviceAccountToken")) is not None:
        yield from _token(part, f"{where}.serviceAccountToken", path)


def _again(
    place: str | None, value: str | None, places: set[str], path: str
) -> Iterator[FieldError]:
    if place and place in places:
        yield invalid(path, value or "", "conflicting duplicate paths")
    places.add(place or "")


def _token(token: Document, path: str, outer: str) -> Iterator[FieldError]:
    seconds, where = token.get("expirationSeconds") or 0, f"{path}.expirationSeconds"
    if seconds < _SHORTEST:
        yield invalid(where, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST:
        yield invalid(where, seconds, "may not specify a duration larger than 2^32 seconds")
    if not token.get("path"):
        yield required(f"{outer}.path")
    else:
        yield from local_path_errors(token["path"], f"{outer}.path")


_PROJECTED: Final = (
    *("secret", "configMap", "downwardAPI", "serviceAccountToken"),
    *("clusterTrustBundle", "podCertificate"),
)
_ORDER: Final = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret"),
    *("nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs"),
    *("quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume"),
    *("azureDisk", "storageos", "projected", "photonPersistentDisk", "portworxVolume", "scaleIO"),
    *("csi", "ephemeral", "image"),
)
_CHECKS: Final[dict[str, Callable[[Document, str], Iterator[FieldError]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "secret": _secret,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "configMap": _config_map,
    "projected": _projected_volume_errors,
    "csi": _csi,
}
