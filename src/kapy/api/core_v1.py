"""Structs of Kubernetes' own core/v1 that our kinds embed."""

from typing import Annotated, ClassVar

from msgspec import field

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
