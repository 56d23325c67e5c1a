"""Structs of Kubernetes' own core/v1 that our kinds embed."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.model import Model, rules


class NodeSwapStatus(Model):
    """NodeSwapStatus is the swap memory of a Node."""

    capacity: Annotated[
        int | None, rules("capacity is the size of the swap memory in bytes.", format="int64")
    ] = None


class NodeSystemInfo(Model):
    """NodeSystemInfo is the system information that the kubelet of a Node reports."""

    ZEROS: ClassVar[bool] = True

    machine_id: Annotated[
        str,
        rules(
            "machineID is the machine identifier of the operating system, as in /etc/machine-id."
        ),
    ] = field(name="machineID")
    system_uuid: Annotated[
        str, rules("systemUUID is the identifier of the hardware or virtual machine.")
    ] = field(name="systemUUID")
    boot_id: Annotated[str, rules("bootID is the identifier of the current boot.")] = field(
        name="bootID"
    )
    kernel_version: Annotated[
        str, rules("kernelVersion is the version of the kernel, as uname -r prints it.")
    ]
    os_image: Annotated[
        str, rules("osImage is the name of the operating system, as in /etc/os-release.")
    ]
    container_runtime_version: Annotated[
        str,
        rules(
            "containerRuntimeVersion is the name and version of the container runtime, for "
            "example containerd://2.1.0."
        ),
    ]
    kubelet_version: Annotated[str, rules("kubeletVersion is the version of the kubelet.")]
    kube_proxy_version: Annotated[
        str,
        rules(
            "kubeProxyVersion is the version of kube-proxy. It is deprecated. Kubernetes no "
            "longer maintains it."
        ),
    ]
    operating_system: Annotated[
        str, rules("operatingSystem is the type of the operating system, for example linux.")
    ]
    architecture: Annotated[
        str, rules("architecture is the processor architecture, for example amd64.")
    ]
    swap: Annotated[NodeSwapStatus | None, rules("swap is information about swap memory.")] = None


class ConfigMapKeySelector(Model, kw_only=True):
    """ConfigMapKeySelector is a reference to a key of a ConfigMap."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[
        str,
        rules(
            "name is the name of the ConfigMap in the namespace of the Pod. The schema "
            'defaults it to "", which selects no ConfigMap.',
            default="",
        ),
    ] = ""
    key: Annotated[
        str,
        rules(
            "key is the key in the data of the ConfigMap. The value of this key becomes the "
            "value of the environment variable."
        ),
    ]
    optional: Annotated[
        bool | None,
        rules(
            "optional tells whether the ConfigMap or its key may be absent. Defaults to "
            "false, with which the Pod does not start without them."
        ),
    ] = None


class FileKeySelector(Model):
    """FileKeySelector is a reference to a key in a file of environment variables."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    volume_name: Annotated[
        str,
        rules(
            "volumeName is the name of the volume with the file. The container must mount "
            "this volume."
        ),
    ]
    path: Annotated[
        str,
        rules(
            "path is the relative path of the file in the volume. It must not contain two "
            "dots. The file consists of lines with a key and a value."
        ),
    ]
    key: Annotated[
        str,
        rules(
            "key is the key in the file whose value becomes the value of the environment "
            "variable. At most 128 characters are allowed."
        ),
    ]
    optional: Annotated[
        bool | None,
        rules(
            "optional tells whether the file or its key may be absent. Defaults to false, "
            "with which the Pod does not start without them.",
            default=False,
        ),
    ] = None


class ObjectFieldSelector(Model, kw_only=True):
    """ObjectFieldSelector is a reference to a field of the Pod."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    api_version: Annotated[
        str,
        rules(
            "apiVersion is the API version to which the path of the field refers. If it is "
            "not set, it defaults to v1."
        ),
    ] = ""
    field_path: Annotated[
        str,
        rules(
            "fieldPath is the path of the field in the Pod, for example metadata.name, "
            "metadata.namespace, spec.nodeName or status.podIP."
        ),
    ]


class ResourceFieldSelector(Model, kw_only=True):
    """ResourceFieldSelector is a reference to a resource of a container."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    container_name: Annotated[
        str,
        rules(
            "containerName is the name of the container whose resource is selected. If it is "
            "not set, the container with the environment variable is meant."
        ),
    ] = ""
    resource: Annotated[
        str,
        rules(
            "resource is the name of the resource, for example limits.cpu, limits.memory or "
            "requests.memory."
        ),
    ]
    divisor: Annotated[
        int | str,
        rules(
            "divisor is the unit in which the resource is expressed, as a quantity, for "
            "example 1Mi. If it is not set, it defaults to 1.",
            pattern=QUANTITY,
            zero="written",
            form="quantity",
        ),
    ] = "0"


class SecretKeySelector(Model, kw_only=True):
    """SecretKeySelector is a reference to a key of a Secret."""

    ZEROS: ClassVar[bool] = True
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[
        str,
        rules(
            "name is the name of the Secret in the namespace of the Pod. The schema defaults "
            'it to "", which selects no Secret.',
            default="",
        ),
    ] = ""
    key: Annotated[
        str,
        rules(
            "key is the key in the data of the Secret. The decoded value of this key becomes "
            "the value of the environment variable."
        ),
    ]
    optional: Annotated[
        bool | None,
        rules(
            "optional tells whether the Secret or its key may be absent. Defaults to false, "
            "with which the Pod does not start without them."
        ),
    ] = None


class EnvVarSource(Model):
    """EnvVarSource is the source of the value of an environment variable. Exactly one field
    must be set.
    """

    field_ref: Annotated[
        ObjectFieldSelector | None,
        rules(
            "fieldRef takes the value from a field of the Pod, for example metadata.name, "
            "spec.nodeName or status.podIP."
        ),
    ] = None
    resource_field_ref: Annotated[
        ResourceFieldSelector | None,
        rules(
            "resourceFieldRef takes the value from a resource limit or request of a "
            "container, for example limits.cpu."
        ),
    ] = None
    config_map_key_ref: Annotated[
        ConfigMapKeySelector | None,
        rules(
            "configMapKeyRef takes the value from a key of a ConfigMap in the namespace of "
            "the Pod. Static Pods do not support it."
        ),
    ] = None
    secret_key_ref: Annotated[
        SecretKeySelector | None,
        rules(
            "secretKeyRef takes the value from a key of a Secret in the namespace of the "
            "Pod. Static Pods do not support it."
        ),
    ] = None
    file_key_ref: Annotated[
        FileKeySelector | None,
        rules(
            "fileKeyRef takes the value from a key in a file of a volume. The feature gate "
            "EnvFiles of Kubernetes must be enabled."
        ),
    ] = None


class EnvVar(Model):
    """EnvVar is an environment variable of a container."""

    ZEROS: ClassVar[bool] = True

    name: Annotated[
        str,
        rules(
            "name is the name of the environment variable. It may consist of all printable "
            "ASCII characters except the equals sign."
        ),
    ]
    value: Annotated[
        str,
        rules(
            "value is the value of the environment variable. $(NAME) is replaced by the "
            "value of an earlier variable. $$ stands for one dollar sign. Defaults to the "
            "empty string."
        ),
    ] = ""
    value_from: Annotated[
        EnvVarSource | None,
        rules(
            "valueFrom is the source of the value. It must not be set together with value. "
            "The kubelet reads the source when the container starts."
        ),
    ] = None


class Taint(Model, kw_only=True):
    """Taint is a taint of a Node. It keeps Pods without a matching toleration away from the
    Node.
    """

    ZEROS: ClassVar[bool] = True

    key: Annotated[
        str,
        rules(
            "key is the key of the taint, possibly with a domain as prefix, for example "
            "node-role.kubernetes.io/control-plane."
        ),
    ]
    value: Annotated[
        str,
        rules(
            "value is the value of the taint. It may be empty. A toleration with the "
            "operator Equal must have the same value."
        ),
    ] = ""
    effect: Annotated[
        str,
        rules(
            "effect is the effect of the taint on Pods that do not tolerate it. Allowed "
            "values are NoSchedule, PreferNoSchedule and NoExecute."
        ),
    ]
    time_added: Annotated[
        str | None,
        rules(
            "timeAdded is the time at which the taint was added to the Node, in the format "
            "of RFC 3339. Kubernetes sets it.",
            format="date-time",
        ),
    ] = None


class LocalObjectReference(Model):
    """LocalObjectReference is a reference to an object in the same namespace."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    name: Annotated[
        str,
        rules(
            'name is the name of the object. The schema defaults it to "", which selects no '
            "object.",
            default="",
        ),
    ] = ""


class ObjectReference(Model):
    """ObjectReference is a reference to an object of any kind."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    kind: Annotated[
        str,
        rules(
            "kind is the kind of the object to which the reference refers, for example "
            "DevMachineTemplate."
        ),
    ] = ""
    namespace: Annotated[
        str,
        rules(
            "namespace is the namespace of the object. It is empty for objects without a "
            "namespace. References of Cluster API stay in one namespace."
        ),
    ] = ""
    name: Annotated[
        str,
        rules(
            "name is the name of the object to which the reference refers. It is unique for "
            "the kind in the namespace."
        ),
    ] = ""
    uid: Annotated[
        str,
        rules(
            "uid is the unique identifier of the object. It distinguishes the object from a "
            "later one with the same name."
        ),
    ] = ""
    api_version: Annotated[
        str,
        rules(
            "apiVersion is the API group and version of the object, for example "
            "infrastructure.cluster.x-k8s.io/v1beta1."
        ),
    ] = ""
    resource_version: Annotated[
        str,
        rules(
            "resourceVersion is the resource version of the object when the reference was "
            "made. Cluster API does not read it."
        ),
    ] = ""
    field_path: Annotated[
        str,
        rules(
            "fieldPath is the path of the part of the object to which the reference refers. "
            "It is empty for the whole object. Cluster API does not read it."
        ),
    ] = ""


class TypedLocalObjectReference(Model, kw_only=True):
    """TypedLocalObjectReference is a reference to an object of any kind in the same namespace."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}
    ZEROS: ClassVar[bool] = True

    api_group: Annotated[
        str | None,
        rules(
            "apiGroup is the API group of the object. If it is not set, the object belongs "
            "to the core API group.",
            zero="written",
        ),
    ] = None
    kind: Annotated[str, rules("kind is the kind of the object.")]
    name: Annotated[str, rules("name is the name of the object.")]
