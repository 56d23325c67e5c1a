"""Structs of Kubernetes' own core/v1 that our kinds embed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.model import Model, rules


class NodeSwapStatus(Model):
    capacity: Annotated[int | None, rules(format="int64")] = None


class NodeSystemInfo(Model):
    architecture: str
    boot_id: str = field(name="bootID")
    container_runtime_version: str
    kernel_version: str
    kube_proxy_version: str
    kubelet_version: str
    machine_id: str = field(name="machineID")
    operating_system: str
    os_image: str
    system_uuid: str = field(name="systemUUID")
    swap: NodeSwapStatus | None = None


class ConfigMapKeySelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    key: str
    name: Annotated[str, rules(default="")] = ""
    optional: bool | None = None


class FileKeySelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    key: str
    path: str
    volume_name: str
    optional: Annotated[bool | None, rules(default=False)] = None


class ObjectFieldSelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    field_path: str
    api_version: str = ""


class ResourceFieldSelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    resource: str
    container_name: str = ""
    divisor: Annotated[int | str | None, rules(pattern=QUANTITY)] = None


class SecretKeySelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    key: str
    name: Annotated[str, rules(default="")] = ""
    optional: bool | None = None


class EnvVarSource(Model):
    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(Model):
    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class Taint(Model):
    effect: str
    key: str
    time_added: Annotated[str | None, rules(format="date-time")] = None
    value: str = ""


class LocalObjectReference(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[str, rules(default="")] = ""
