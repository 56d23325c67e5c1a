"""Boot data of a simulated machine, as cloud-init reads it. Pure.

It reads the parts that kubeadm would read: its configuration, and the cluster's CA if there is one.
Variables of cloud-init (`{{ ds.meta_data.local_hostname }}`) are replaced first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.nested import value_at
from kapy.kube.pki import KeyPair
from kapy.kube.yaml import YamlError, load, load_all

_VARIABLE: Final = re.compile(rb"\{\{\s*ds\.meta_data\.(\w+)\s*\}\}")
_CA: Final = "/etc/kubernetes/pki/ca"
_ETCD_CA: Final = "/etc/kubernetes/pki/etcd/ca"
_KUBEADM: Final = "/run/kubeadm/"
_PROVIDER_ID: Final = "provider-id"


class BadUserData(KapyError):
    """A machine cannot start with these data; the message says why and shows nothing of them."""


@dataclass(frozen=True)
class Boot:
    """The properties of a machine after its boot.

    name: the name of its Node. provider_id: the provider ID that its kubelet reports, "" if its
    configuration has none. authority: the cluster's CA, on control plane machines; etcd_authority:
    the CA of its etcd. begins: whether it is the first machine of its cluster. text: the boot data,
    with variables replaced.
    """

    name: str
    provider_id: str
    authority: KeyPair | None = None
    etcd_authority: KeyPair | None = None
    begins: bool = False
    text: bytes = field(default=b"", repr=False)

    @property
    def control_plane(self) -> bool:
        """Return whether an API server runs on the machine."""
        return self.authority is not None


def boot_of(data: bytes, *, hostname: str, instance_id: str) -> Boot:
    """Parse the boot data of a machine. Raises BadUserData."""
    values = {b"local_hostname": hostname, b"instance_id": instance_id}
    text = _VARIABLE.sub(lambda match: values.get(match[1], "").encode(), data)
    files = _files(text)
    kinds = {item["kind"]: item for item in _kubeadm(files)}
    begins = "InitConfiguration" in kinds
    configuration = kinds.get("InitConfiguration") or kinds.get("JoinConfiguration")
    if configuration is None:
        raise BadUserData("it has no configuration of kubeadm that says whether to init or to join")
    authority = etcd = None
    if begins or "controlPlane" in configuration:
        authority, etcd = _authority(files, _CA), _authority(files, _ETCD_CA)
    registration = configuration.get("nodeRegistration") or {}
    name = registration.get("name") or hostname
    return Boot(name, _provider_id(registration), authority, etcd, begins, text)


def _files(text: bytes) -> Mapping[str, str]:
    try:
        result = load(text, "user data")
        written = value_at(result, ("write_files",)) or ()
        return {str(item["path"]): str(item.get("content", "")) for item in written}
    except (YamlError, TypeError, KeyError):
        raise BadUserData("it is no #cloud-config with write_files") from None


def _kubeadm(files: Mapping[str, str]) -> Iterator[Document]:
    for path, content in files.items():
        if path.startswith(_KUBEADM) and path.endswith(".yaml"):
            try:
                documents = load_all(content, path)
            except YamlError:
                raise BadUserData(f"{path} is not YAML") from None
            yield from (
                document
                for document in documents
                if isinstance(document, dict) and "kind" in document
            )


def _authority(files: Mapping[str, str], path: str) -> KeyPair:
    try:
        return KeyPair(files[f"{path}.crt"].encode(), files[f"{path}.key"].encode())
    except KeyError as error:
        raise BadUserData(f"a control plane machine needs the file {error.args[0]}") from None


def _provider_id(registration: Document) -> str:
    """Return the provider ID in the arguments of the kubelet, which are a list or, in older
    versions, a map.
    """
    arguments: Any = registration.get("kubeletExtraArgs") or {}
    if isinstance(arguments, dict):
        return str(arguments.get(_PROVIDER_ID, ""))
    return next(
        (str(item.get("value")) for item in arguments if item.get("name") == _PROVIDER_ID), ""
    )
