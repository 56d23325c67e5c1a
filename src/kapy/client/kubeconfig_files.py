"""Kubeconfig files on disk: which ones kubectl would use, reading them, and writing them safely."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kapy.client.kubeconfig import Kubeconfig, KubeconfigError, access, document_of, merge
from kapy.kube import Document
from kapy.kube.yaml import dump


def home() -> Path:
    """Return the user's home directory; the root directory if the system does not know the user, as
    in Pods.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def paths(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the files that kubectl reads: those of $KUBECONFIG, or `~/.kube/config`."""
    parts = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part) for part in parts] or [home / ".kube" / "config"]


def path_to_write(candidates: list[Path]) -> Path:
    """Return the file for a new context: the first existing one, else the last (as kind does)."""
    return next((path for path in candidates if path.exists()), candidates[-1])


def read(path: Path) -> Document:
    """Return the document of a file; {} when there is none. Raises KubeconfigError."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KubeconfigError(f"cannot read {path}: {error.strerror or error}") from None
    return document_of(text, str(path))


def load(candidates: list[Path], context: str = "") -> Kubeconfig:
    """Return the access that these files, merged, describe in a context ("" is the current one).

    File names inside are relative to the file that contains them.
    """
    documents = [_absolute(read(path), path.parent) for path in candidates]
    source = os.pathsep.join(map(str, candidates))
    if not any(documents):
        raise KubeconfigError(
            f"there is no kubeconfig at {source}; `kapy up` runs a management plane and "
            "writes one, --kubeconfig names another"
        )
    merged = merge(documents)
    if not context and not merged.get("contexts"):
        raise KubeconfigError(
            f"{source} has no context, as after `kapy down`; `kapy up` runs a management plane and "
            "writes one, --kubeconfig names another file"
        )
    return access(merged, source=source, context=context, folder=Path("/"))


def edit(path: Path, change: Callable[[Document], Document]) -> None:
    """Replace the file atomically by the result of `change`, readable by its owner only.

    The lock file of kubectl and kind excludes other writers meanwhile.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise KubeconfigError(
            f"{path} is being written by another program; if there is none, remove {lock}"
        ) from None
    except OSError as error:
        raise KubeconfigError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        _replace(path, dump(change(read(path))))
    except OSError as error:
        raise KubeconfigError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        lock.unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    from tempfile import NamedTemporaryFile  # not needed for reading

    target = path.resolve()  # keep a symbolic link
    with NamedTemporaryFile("w", dir=target.parent, prefix=".kubeconfig-", delete=False) as file:
        try:
            file.write(text)  # the temporary file is 0600 from the start
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(file.name)
            raise


def _absolute(document: Document, folder: Path) -> Document:
    names = {
        "clusters": ("cluster", ("certificate-authority",)),
        "users": ("user", ("client-certificate", "client-key", "tokenFile")),
    }
    changed = dict(document)
    for part, (inner, fields) in names.items():
        changed[part] = [
            {**entry, inner: _with_absolute_paths(entry.get(inner) or {}, fields, folder)}
            for entry in document.get(part) or []
        ]
    return changed if document else document


def _with_absolute_paths(entry: Document, fields: tuple[str, ...], folder: Path) -> Document:
    result: Document = {
        name: str((folder / entry[name]).absolute()) for name in fields if entry.get(name)
    }
    command = (entry.get("exec") or {}).get("command")
    if isinstance(command, str) and "/" in command:
        result["exec"] = {**entry["exec"], "command": str((folder / command).absolute())}
    return {**entry, **result}
