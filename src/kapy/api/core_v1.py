"""Structs of Kubernetes' own core/v1 that our kinds embed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.model import Model, rules


class NodeSwapStatus(Model):
    """What a Node has of swap."""

    capacity: Annotated[int | None, rules("Its size in bytes.", format="int64")] = None


class NodeSystemInfo(Model):
    """What a Node says about its system."""

    ZEROS: ClassVar[bool] = True

    machine_id: Annotated[str, rules("The system's own identifier.")] = field(name="machineID")
    system_uuid: Annotated[str, rules("The hardware's identifier.")] = field(name="systemUUID")
    boot_id: Annotated[str, rules("Another one for each boot.")] = field(name="bootID")
    kernel_version: Annotated[str, rules("The kernel's version.")]
    os_image: Annotated[str, rules("The operating system's name and release.")]
    container_runtime_version: Annotated[str, rules("The container runtime and its version.")]
    kubelet_version: Annotated[str, rules("The kubelet's version.")]
    kube_proxy_version: Annotated[
        str, rules("The version of kube-proxy; Kubernetes does not keep it up any more.")
    ]
    operating_system: Annotated[str, rules("The kind of operating system.")]
    architecture: Annotated[str, rules("The processor architecture.")]
    swap: Annotated[NodeSwapStatus | None, rules("What there is of swap.")] = None


class ConfigMapKeySelector(Model, kw_only=True):
    """Names one key of a ConfigMap."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[str, rules("The ConfigMap's name.", default="")] = ""
    key: Annotated[str, rules("The key.")]
    optional: Annotated[bool | None, rules("Whether the ConfigMap or its key may be missing.")] = (
        None
    )


class FileKeySelector(Model):
    """Names one key in a file of a volume."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    volume_name: Annotated[str, rules("The volume's name.")]
    path: Annotated[str, rules("The file's path within the volume.")]
    key: Annotated[str, rules("The key.")]
    optional: Annotated[
        bool | None, rules("Whether the file or its key may be missing.", default=False)
    ] = None


class ObjectFieldSelector(Model, kw_only=True):
    """Names a field of the Pod."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    api_version: Annotated[
        str, rules("The API version that the path belongs to; v1 unless said.")
    ] = ""
    field_path: Annotated[str, rules("The field's path.")]


class ResourceFieldSelector(Model, kw_only=True):
    """Names a resource of a container."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    container_name: Annotated[str, rules("The container's name.")] = ""
    resource: Annotated[str, rules("The resource, as in limits.cpu.")]
    divisor: Annotated[
        int | str,
        rules(
            "The unit to count in; 0 stands for 1.",
            pattern=QUANTITY,
            zero="written",
            form="quantity",
        ),
    ] = "0"


class SecretKeySelector(Model, kw_only=True):
    """Names one key of a Secret."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[str, rules("The Secret's name.", default="")] = ""
    key: Annotated[str, rules("The key.")]
    optional: Annotated[bool | None, rules("Whether the Secret or its key may be missing.")] = None


class EnvVarSource(Model):
    """Where the value of an environment variable comes from; one of these."""

    field_ref: Annotated[ObjectFieldSelector | None, rules("A field of the Pod.")] = None
    resource_field_ref: Annotated[
        ResourceFieldSelector | None, rules("A resource of a container.")
    ] = None
    config_map_key_ref: Annotated[ConfigMapKeySelector | None, rules("A key of a ConfigMap.")] = (
        None
    )
    secret_key_ref: Annotated[SecretKeySelector | None, rules("A key of a Secret.")] = None
    file_key_ref: Annotated[FileKeySelector | None, rules("A key in a file of a volume.")] = None


class EnvVar(Model):
    """One environment variable."""

    ZEROS: ClassVar[bool] = True

    name: Annotated[str, rules("Its name.")]
    value: Annotated[str, rules("Its value, in which $(NAME) stands for an earlier variable.")] = ""
    value_from: Annotated[EnvVarSource | None, rules("Where to take the value from instead.")] = (
        None
    )


class Taint(Model, kw_only=True):
    """A taint of a Node."""

    ZEROS: ClassVar[bool] = True

    key: Annotated[str, rules("The taint's key.")]
    value: Annotated[str, rules("The taint's value.")] = ""
    effect: Annotated[str, rules("What it does to Pods that do not tolerate it.")]
    time_added: Annotated[str | None, rules("When it was put there.", format="date-time")] = None


class LocalObjectReference(Model):
    """Names an object in the same namespace."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[str, rules("The object's name.", default="")] = ""


class ObjectReference(Model):
    """Names an object of any kind."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    kind: Annotated[str, rules("The object's kind.")] = ""
    namespace: Annotated[str, rules("The object's namespace.")] = ""
    name: Annotated[str, rules("The object's name.")] = ""
    uid: Annotated[str, rules("The object's unique identifier.")] = ""
    api_version: Annotated[str, rules("The API group and version of the object's kind.")] = ""
    resource_version: Annotated[str, rules("The version of the object that is meant.")] = ""
    field_path: Annotated[str, rules("The part of the object that is meant.")] = ""


class TypedLocalObjectReference(Model, kw_only=True):
    """Names an object of any kind in the same namespace."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}
    ZEROS: ClassVar[bool] = True

    api_group: Annotated[
        str | None, rules("The API group of the object's kind; none is core's.", zero="written")
    ] = None
    kind: Annotated[str, rules("The object's kind.")]
    name: Annotated[str, rules("The object's name.")]
