"""Reads access data from kubeconfig files and Secrets, and edits contexts.

A kubeconfig is a document (`clientcmd.Config` of client-go). `access` returns the data that a
client needs, and reads the files that the document refers to; `with_context` and `without_context`
are pure changes of it; `load` merges files as kubectl does and `write` writes files that only the
owner can read.

* KubeconfigError   unreadable, incomplete, or unsupported; the message is one sentence for users
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from kapy.client.exec_plugin import ExecPlugin, plugin_of
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError, load

PROXIES: Final = ("http://", "https://", "socks5://", "socks5h://")


MAX_CHARACTERS: Final = 1 << 16
"""Maximum characters of a kubeconfig that does not come from a file: several times the usual
size."""


class KubeconfigError(KapyError):
    """The kubeconfig cannot be used; the message gives the reason and contains no secret."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The access to one server as one user. Certificates and keys are PEM, b"" if missing.

    token: a bearer token; `…_file`: files with token, certificate and key, which are read again
    after renewals. exec: the exec plugin. basic: user and password, as in the header. impersonate:
    impersonation headers. insecure: do not verify the server's certificate. tls_server_name: the
    expected name in the certificate, if it is not the URL's host. namespace: the context's default.
    proxy: the URL of the proxy, which may contain a password.
    """

    server: str
    certificate_authority: bytes = b""
    client_certificate: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    insecure: bool = False
    tls_server_name: str = ""
    namespace: str = ""
    proxy: str = field(default="", repr=False)
    token_file: str = ""
    client_certificate_file: str = ""
    client_key_file: str = ""
    basic: str = field(default="", repr=False)
    impersonate: tuple[tuple[str, str], ...] = ()
    exec: ExecPlugin | None = None


def parse(text: str | bytes, source: str = "kubeconfig", context: str = "") -> Kubeconfig:
    """Return the access that a kubeconfig text describes in a context ("" is its current one).

    The text may be untrusted: references to files are refused, and its length is limited, because
    parsing YAML is slow.
    """
    if len(text) > MAX_CHARACTERS:
        raise KubeconfigError(f"{source}: is larger than {MAX_CHARACTERS} bytes")
    return access(document_of(text, source, quote=False), source=source, context=context)


def document_of(text: str | bytes, source: str = "kubeconfig", *, quote: bool = True) -> Document:
    """Return the kubeconfig document of a text; an empty text is an empty document.

    quote: whether an error may quote the text, as that of a file of the user may.
    """
    try:
        result = load(text, source)
    except YamlError as error:
        line = re.search(r"line \d+", str(error))
        where = f" ({line[0]})" if line is not None else ""
        message = str(error) if quote else f"{source}: is not valid YAML{where}"
        raise KubeconfigError(message) from None
    if result is None:
        return {}
    if not isinstance(result, dict) or result.get("kind", "Config") != "Config":
        raise KubeconfigError(f"{source}: is not a kubeconfig (kind: Config)")
    for part in ("clusters", "contexts", "users"):
        entries = result.get(part)
        if entries is not None and not _named_entries(entries, part[:-1]):
            raise KubeconfigError(f"{source}: {part} is not a list of named entries")
    return result


def _named_entries(entries: Any, inner: str) -> bool:
    return isinstance(entries, list) and all(
        isinstance(item, dict) and isinstance(item.get(inner) or {}, dict) for item in entries
    )


def access(
    document: Document, *, source: str = "kubeconfig", context: str = "", folder: Path | None = None
) -> Kubeconfig:
    """Return the access that a document describes in a context ("" is its current one).

    folder: the base of relative file names; None refuses files (a Secret's kubeconfig must not make
    a controller read files).
    """
    name = context or document.get("current-context") or ""
    if not name:
        raise KubeconfigError(
            f"{source}: no context is given and none is current; name one with "
            "--kubeconfig-context, or choose one with `kubectl config use-context`"
        )
    chosen = _named_entry(document, "contexts", name, source)
    cluster = _named_entry(document, "clusters", str(chosen.get("cluster", "")), source)
    user: Document = {}
    if chosen.get("user"):
        user = _named_entry(document, "users", str(chosen["user"]), source)
    if user.get("auth-provider"):
        raise KubeconfigError(
            f"{source}: credentials of the form 'auth-provider' are not supported, as client-go "
            "does without them since 1.26; use an 'exec' program"
        )
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise KubeconfigError(f"{source}: context {name!r} has no server URL")
    files = _Files(source, folder)
    token = files.text_of(user, "tokenFile") or str(user.get("token") or "")
    certificate = files.bytes_of(user, "client-certificate")
    exclusive = token or certificate or user.get("username")
    return Kubeconfig(
        server=server.rstrip("/"),
        certificate_authority=files.bytes_of(cluster, "certificate-authority"),
        client_certificate=certificate,
        client_key=files.bytes_of(user, "client-key"),
        token=token,
        insecure=cluster.get("insecure-skip-tls-verify") is True,
        tls_server_name=str(cluster.get("tls-server-name") or ""),
        namespace=str(chosen.get("namespace") or ""),
        proxy=_proxy(cluster, source),
        token_file=files.name_of(user, "tokenFile"),
        client_certificate_file=files.name_of(user, "client-certificate"),
        client_key_file=files.name_of(user, "client-key"),
        basic=_basic(user),
        impersonate=_parse_impersonation(user, source),
        exec=None if exclusive else _plugin(user, cluster, files),
    )


def _basic(user: Document) -> str:
    if not user.get("username"):
        return ""
    return _encode(f"{user['username']}:{user.get('password') or ''}".encode())


def _impersonation_headers(user: Document) -> Iterator[tuple[str, str]]:
    """Return the impersonation headers, as for kubectl's `--as`."""
    for name, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(name):
            yield header, str(user[name])
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", str(group)
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values or ():
            yield f"Impersonate-Extra-{quote(str(key), safe='')}", str(value)


def _parse_impersonation(user: Document, source: str) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(_impersonation_headers(user))
    except (TypeError, AttributeError):
        raise KubeconfigError(
            f"{source}: as-groups must be a list, and as-user-extra a map of lists"
        ) from None


def _plugin(user: Document, cluster: Document, files: _Files) -> ExecPlugin | None:
    """Return the exec plugin of a user; a kubeconfig from a Secret may not have one."""
    user_exec = user.get("exec")
    if not user_exec:
        return None
    if files.folder is None:
        raise KubeconfigError(f"{files.source}: exec names a program; only a file's kubeconfig may")
    try:
        authority = files.bytes_of(cluster, "certificate-authority")
        data = {"certificate-authority-data": _encode(authority)} if authority else {}
        return plugin_of(user_exec, {**cluster, **data})
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise KubeconfigError(f"{files.source}: exec: {error}") from None


def _proxy(cluster: Document, source: str) -> str:
    """Return the cluster's `proxy-url`.

    The error message does not quote it, because it may contain a password.
    """
    url = str(cluster.get("proxy-url") or "")
    if url and not url.startswith(PROXIES):
        schemes = ", ".join(PROXIES)
        raise KubeconfigError(f"{source}: proxy-url is supported with {schemes} only")
    return url


@dataclass(frozen=True, slots=True)
class _Files:
    source: str
    folder: Path | None

    def bytes_of(self, entry: Mapping[str, Any], name: str) -> bytes:
        """Return a PEM given in place (`<name>-data`, base64) or by file name."""
        data = entry.get(f"{name}-data")
        if data:
            try:
                return base64.b64decode(str(data), validate=True)
            except (binascii.Error, ValueError):
                raise KubeconfigError(f"{self.source}: {name}-data is not base64") from None
        return self._read(entry, name)

    def text_of(self, entry: Mapping[str, Any], name: str) -> str:
        """Return the text of a file, "" when none is named."""
        return self._read(entry, name).decode("utf-8", "replace").strip()

    def name_of(self, entry: Mapping[str, Any], name: str) -> str:
        """Return the path of a file that is read again after renewals, "" if none is named."""
        path = entry.get(name)
        if not path or self.folder is None or entry.get(f"{name}-data"):
            return ""
        return str(self.folder / str(path))

    def _read(self, entry: Mapping[str, Any], name: str) -> bytes:
        path = entry.get(name)
        if not path:
            return b""
        if self.folder is None:
            raise KubeconfigError(f"{self.source}: {name} names a file; only {name}-data can be")
        try:
            return (self.folder / str(path)).read_bytes()
        except OSError as error:
            reason = error.strerror or error
            raise KubeconfigError(f"{self.source}: {name}: cannot read {path}: {reason}") from None


def merge(documents: Sequence[Document]) -> Document:
    """Merge kubeconfigs as kubectl does: the first definition of a name counts."""
    result: Document = {"apiVersion": "v1", "kind": "Config"}
    for part in ("clusters", "contexts", "users"):
        entries: dict[str, Document] = {}
        for document in documents:
            for entry in document.get(part) or []:
                entries.setdefault(entry.get("name", ""), entry)
        result[part] = list(entries.values())
    currents = (document.get("current-context") for document in documents)
    result["current-context"] = next((item for item in currents if item), "")
    return result


def with_context(document: Document, name: str, to: Kubeconfig) -> Document:
    """Return `document` with cluster, user and context `name`, which becomes the current context.

    Existing entries with this name are replaced.
    """
    cluster: Document = {"server": to.server}
    if to.certificate_authority:
        cluster["certificate-authority-data"] = _encode(to.certificate_authority)
    if to.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if to.tls_server_name:
        cluster["tls-server-name"] = to.tls_server_name
    if to.proxy:
        cluster["proxy-url"] = to.proxy
    user: Document = {}
    if to.client_certificate:
        user["client-certificate-data"] = _encode(to.client_certificate)
        user["client-key-data"] = _encode(to.client_key)
    if to.token:
        user["token"] = to.token
    context = {"cluster": name, "user": name}
    if to.namespace:
        context["namespace"] = to.namespace
    changed = {"apiVersion": "v1", "kind": "Config", **document}
    for part, inner, entry in (
        ("clusters", "cluster", cluster),
        ("contexts", "context", context),
        ("users", "user", user),
    ):
        changed[part] = [*_others(document, part, name), {"name": name, inner: entry}]
    changed["current-context"] = name
    return changed


def without_context(document: Document, name: str) -> Document:
    """Return `document` without cluster, user and context `name`; if it was current, no
    context is.
    """
    changed = {"apiVersion": "v1", "kind": "Config", **document}
    for part in ("clusters", "contexts", "users"):
        changed[part] = _others(document, part, name)
    if changed.get("current-context") == name:
        changed["current-context"] = ""
    return changed


def _others(document: Document, part: str, name: str) -> list[Document]:
    return [entry for entry in document.get(part) or [] if entry.get("name") != name]


def _encode(pem: bytes) -> str:
    return base64.b64encode(pem).decode("ascii")


def _named_entry(document: Document, part: str, name: str, source: str) -> Document:
    inner = part[:-1]
    for entry in document.get(part) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            result = entry.get(inner)
            return result if isinstance(result, dict) else {}
    raise KubeconfigError(f"{source}: there is no {inner} {name!r}")
