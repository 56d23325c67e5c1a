"""Environment variables of containers, as the Kubernetes API defines them (core/v1)."""

from typing import Annotated, ClassVar

from kapy.api.patterns import QUANTITY
from kapy.kube import Document
from kapy.kube.model import Model, rules


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
