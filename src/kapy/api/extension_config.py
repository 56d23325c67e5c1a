"""ExtensionConfig: the registration of a server of runtime extensions, and its handlers."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Port = Annotated[
    int | None,
    rules(
        "port is the TCP port of the Service. Allowed values are 1 to 65535. Defaults to 443.",
        format="int32",
    ),
]
CABundle = Annotated[
    str,
    rules(
        "caBundle is the certificate authority bundle that validates the serving "
        "certificate of the extension, in PEM format, encoded as base64. If it is not "
        "set, the trust store of the system is used. The annotation "
        "runtime.cluster.x-k8s.io/inject-ca-from-secret fills it from a Secret.",
        format="byte",
        min_length=1,
        max_length=51200,
    ),
]
NamespaceSelector = Annotated[
    LabelSelector | None,
    rules(
        "namespaceSelector selects the namespaces of the objects for which the extension "
        "is called. Defaults to the empty selector, which selects all namespaces."
    ),
]
Settings = Annotated[
    dict[str, str],
    rules(
        "settings are key-value pairs that are sent to the extension with each request. "
        "Settings of a patch in a ClusterClass take precedence."
    ),
]


HandlerName = Annotated[
    str,
    rules(
        "name is the unique name of the handler. It consists of the name of the handler "
        "in the extension, a dot and the name of the ExtensionConfig.",
        min_length=1,
        max_length=512,
    ),
]


class ServiceReference(Model):
    """ServiceReference is a reference to a Service of the management cluster."""

    namespace: Annotated[
        str, rules("namespace is the namespace of the Service.", min_length=1, max_length=63)
    ]
    name: Annotated[str, rules("name is the name of the Service.", min_length=1, max_length=63)]
    path: Annotated[
        str,
        rules(
            "path is the URL path that precedes the path of each hook. It must begin with a slash.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    port: Port = None


class ClientConfig(Model):
    """ClientConfig configures how the extension is reached. Exactly one of url and service
    must be set.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    url: Annotated[
        str,
        rules(
            "url is the URL of the extension, for example "
            "https://extension.example.com:9443/base. The scheme must be https. Exactly one "
            "of url and service must be set.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    service: Annotated[
        ServiceReference | None,
        rules(
            "service is a reference to the Service of the extension. Exactly one of url and "
            "service must be set.",
            zero="omitted",
        ),
    ] = None
    ca_bundle: CABundle = ""


class ExtensionConfigSpec(Model):
    """ExtensionConfigSpec is the desired state of an ExtensionConfig."""

    client_config: Annotated[
        ClientConfig, rules("clientConfig configures how the extension is reached.")
    ]
    namespace_selector: NamespaceSelector = None
    settings: Settings = field(default_factory=dict)


class GroupVersionHook(Model):
    """GroupVersionHook identifies a hook and its version."""

    api_version: Annotated[
        str,
        rules(
            "apiVersion is the group and version of the hook, for example "
            "hooks.runtime.cluster.x-k8s.io/v1alpha1.",
            min_length=1,
            max_length=512,
        ),
    ]
    hook: Annotated[
        str,
        rules(
            "hook is the name of the hook, for example BeforeClusterCreate.",
            min_length=1,
            max_length=256,
        ),
    ]


class ExtensionHandler(Model):
    """ExtensionHandler describes one handler of an extension."""

    name: HandlerName
    request_hook: Annotated[
        GroupVersionHook, rules("requestHook identifies the hook that the handler serves.")
    ]
    timeout_seconds: Annotated[
        int,
        rules(
            "timeoutSeconds is the time in seconds within which the handler must answer. The "
            "extension announces it. If it is not set, it defaults to 10. More than 30 is "
            "not allowed.",
            format="int32",
            minimum=1,
        ),
    ] = 0
    failure_policy: Annotated[
        str,
        rules(
            "failurePolicy tells what happens if a call of the handler fails. Allowed values "
            "are Ignore and Fail. With Ignore the operation continues. With Fail it is "
            "stopped and tried again. The extension announces it. Defaults to Fail.",
            enum=["Ignore", "Fail"],
        ),
    ] = ""


class ExtensionConfigStatus(Model):
    """ExtensionConfigStatus is the observed state of an ExtensionConfig."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the ExtensionConfig's current state. Types "
            "are Discovered, HookVersionsUpToDate and Paused. The reason of Discovered is "
            "Discovered or NotDiscovered. The reason of HookVersionsUpToDate is "
            "DeprecatedHookVersions if a handler serves a deprecated hook."
        ),
    ] = field(default_factory=list)
    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            "handlers are the handlers that the extension has announced in its answer to the "
            "Discovery hook. At most 512 are stored.",
            max_items=512,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class ExtensionConfig(Object, kw_only=True):
    """ExtensionConfig registers a runtime extension. Cluster API calls the handlers of the
    extension at defined points in the life of clusters.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "runtime.cluster.x-k8s.io",
        "v1beta2",
        "extensionconfigs",
        "ExtensionConfig",
        namespaced=False,
    )

    spec: Annotated[ExtensionConfigSpec, rules("spec is the desired state of the ExtensionConfig.")]
    status: Annotated[
        ExtensionConfigStatus,
        rules(
            "status is the observed state of the ExtensionConfig. The ExtensionConfig "
            "controller writes it."
        ),
    ] = field(default_factory=ExtensionConfigStatus)
