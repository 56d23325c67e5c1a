"""The volumes of a Pod, as folders: up-to-date Secrets, ConfigMaps, Pod fields and tokens, empty
folders, and folders of the host.

Files of a volume are replaced atomically, as kubelets do:

    volumes/cert/tls.crt  → ..data/tls.crt
    volumes/cert/..data   → ..3f2a9c
    volumes/cert/..3f2a9c/tls.crt

A new state is a new folder, and one `rename` of the link `..data` activates it: readers see the
files of one state, and file watchers see them change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from kapy.node_agent.sources import MissingSource, Sources

TOKEN_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""The path of the ServiceAccount's token, CA and namespace in a Pod."""
_TOKEN_VOLUME: Final = "kube-api-access"
_MODE: Final = 0o644

Token = Callable[[str, int], str]
"""The current token for an audience ("" for the API server) and a lifetime in seconds. Raises
MissingSource where there is none yet."""


class Mount(NamedTuple):
    """A folder or file of the host, and its mount path."""

    source: Path
    path: str
    read_only: bool = False


class Volumes:
    """The volumes of one Pod. folder: contains a folder for each. ca: PEM of the API server's
    CA."""

    def __init__(self, folder: Path, pod: Document, token: Token, ca: bytes) -> None:
        self._folder = folder
        self._pod = pod
        self._token = token
        self._ca = ca
        self._private = 0o600
        self._more = 0
        self._volumes: dict[str, Mapping[str, Any]] = {
            item["name"]: item for item in pod["spec"].get("volumes") or ()
        }

    def share(self) -> None:
        """Make the files readable for containers with other users: for the container's user, and
        for the Pod's `fsGroup`. The Pod's folder stays closed to all others."""
        self._private = 0o644
        if (self._pod["spec"].get("securityContext") or {}).get("fsGroup") is not None:
            self._more = 0o444

    @property
    def account(self) -> Path | None:
        """The folder with the ServiceAccount's token, None if the Pod does not mount it."""
        wanted = self._pod["spec"].get("automountServiceAccountToken")
        return None if wanted is False else self._folder / _TOKEN_VOLUME

    def update(self, sources: Sources) -> None:
        """Bring all folders up to date. Raises MissingSource, OSError."""
        account = self.account
        if account is not None:
            namespace = self._pod["metadata"]["namespace"].encode()
            token = self._token("", 3607).encode()
            files = {"token": token, "ca.crt": self._ca, "namespace": namespace}
            publish_files(
                account, {key: Content(data, self._private) for key, data in files.items()}
            )
        for name, volume in self._volumes.items():
            self._update(self._folder / name, volume, sources)

    def _update(self, folder: Path, volume: Mapping[str, Any], sources: Sources) -> None:
        if "emptyDir" in volume:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)  # other users cannot enter the Pod's folder
        elif "hostPath" in volume:
            _check_host_path(volume)
        else:
            files = self._files(volume, sources)
            publish_files(
                folder, {key: Content(item.data, item.mode | self._more) for key, item in files}
            )

    def _files(self, volume: Mapping[str, Any], sources: Sources) -> Iterator[tuple[str, Content]]:
        for field in ("secret", "configMap", "downwardAPI"):
            if field in volume:
                mode = volume[field].get("defaultMode") or _MODE
                yield from self._files_of(field, volume[field], sources, mode)
        projected = volume.get("projected") or {}
        mode = projected.get("defaultMode") or _MODE
        for item in projected.get("sources") or ():
            for field, source in item.items():
                yield from self._files_of(field, source or {}, sources, mode)

    def _files_of(
        self, field: str, source: Mapping[str, Any], sources: Sources, mode: int
    ) -> Iterator[tuple[str, Content]]:
        optional = bool(source.get("optional"))
        name = source.get("secretName") or source.get("name") or ""
        if field == "secret":
            data = sources.secret_data(name, optional=optional)
            yield from _select_items(f"secret {name}", data or {}, source, mode)
        elif field == "configMap":
            data = sources.config_data(name, optional=optional)
            yield from _select_items(f"configmap {name}", data or {}, source, mode)
        elif field == "downwardAPI":
            yield from self._fields(source, sources, mode)
        elif field == "serviceAccountToken":
            seconds = source.get("expirationSeconds") or 3600
            token = self._token(source.get("audience") or "", seconds)
            yield _path(source.get("path") or "token"), Content(token.encode(), self._private)

    def _fields(
        self, source: Mapping[str, Any], sources: Sources, mode: int
    ) -> Iterator[tuple[str, Content]]:
        for item in source.get("items") or ():
            if "fieldRef" in item:
                value = _metadata(item["fieldRef"].get("fieldPath", ""), sources)
            else:
                value = sources.resource(None, item.get("resourceFieldRef") or {})
            yield _path(item["path"]), Content(value.encode(), item.get("mode") or mode)

    def mounts(self, container: Document) -> list[Mount]:
        """Return the mounts of a container."""
        result = list(self._mounts(container.get("volumeMounts") or ()))
        account = self.account
        if account is not None and all(item.path != TOKEN_FOLDER for item in result):
            result.append(Mount(account, TOKEN_FOLDER, read_only=True))
        return result

    def _mounts(self, mounts: Iterable[Mapping[str, Any]]) -> Iterator[Mount]:
        for item in mounts:
            volume = self._volumes.get(item["name"], {})
            source = self._folder / item["name"]
            if "hostPath" in volume:
                source = Path(volume["hostPath"]["path"])
            if item.get("subPath"):
                part = _path(item["subPath"])
                # As in a kubelet, a subPath is never updated.
                data = source / _DATA
                source = (data.resolve() if data.exists() else source) / part
            path = "/" + str(PurePosixPath(item["mountPath"])).strip("/")
            yield Mount(source, path, bool(item.get("readOnly")))


def _select_items(
    kind: str, data: Mapping[str, bytes], source: Mapping[str, Any], mode: int
) -> Iterator[tuple[str, Content]]:
    items = source.get("items")
    if not items:
        yield from ((_path(key), Content(value, mode)) for key, value in data.items())
        return
    for item in items:
        key = item.get("key", "")
        if key in data:
            yield _path(item["path"]), Content(data[key], item.get("mode") or mode)
        elif not source.get("optional"):
            raise MissingSource(f"references non-existent {kind} key: {key}")


def _metadata(path: str, sources: Sources) -> str:
    """Return a metadata field of the Pod for a file; a kubelet supports no other fields there.
    Raises MissingSource."""
    if not path.startswith("metadata."):
        raise MissingSource(
            f"the field {path} is not one of a volume, which has metadata only; a variable can "
            "have it"
        )
    return sources.field(path)


def _path(text: str) -> str:
    """Return a relative path that must not leave its folder. Raises MissingSource."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts or text.startswith(".."):
        raise MissingSource(f"the path {text!r} leads out of its volume")
    return str(path)


def _check_host_path(volume: Mapping[str, Any]) -> None:
    mode = volume["hostPath"]
    path, kind = Path(mode["path"]), mode.get("type") or ""
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    if kind and not path.exists():
        raise MissingSource(f"hostPath type check failed: {path} is not a {kind}")


_DATA: Final = "..data"


class Content(NamedTuple):
    """The content of a file, and its permissions."""

    data: bytes
    mode: int = 0o644


def publish_files(folder: Path, files: Mapping[str, Content]) -> bool:
    """Make a folder contain exactly these files (by relative path); whether anything changed."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    name = f"..{_digest(files)}"
    link = folder / _DATA
    before = os.readlink(link) if link.is_symlink() else ""
    if before == name:
        return False
    _write(folder / name, files)
    fresh = folder / "..data_tmp"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(name)
    fresh.replace(link)
    _link_all(folder, {path.split("/")[0] for path in files})
    for old in folder.glob("..*"):
        if old.name not in (_DATA, name):
            shutil.rmtree(old, ignore_errors=True)
    return True


def _digest(files: Mapping[str, Content]) -> str:
    digest = blake2b(digest_size=8)
    for path in sorted(files):
        content = files[path]
        digest.update(f"{path}\0{content.mode:o}\0{len(content.data)}\0".encode())
        digest.update(content.data)
    return digest.hexdigest()


def _write(folder: Path, files: Mapping[str, Content]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.data)
        file.chmod(content.mode)


def _link_all(folder: Path, names: set[str]) -> None:
    """Create a link for each top-level name, and remove the links of deleted files."""
    for there in folder.iterdir():
        if not there.name.startswith("..") and there.name not in names:
            with suppress(OSError):
                there.unlink()
    for name in names:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{_DATA}/{name}")
