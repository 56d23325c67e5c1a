"""ExtensionConfig: a server of runtime extensions, and what it offers."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.api.status import Conditions, Deprecated
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

Port = Annotated[int | None, rules("The Service's port; 443 unless said.", format="int32")]
CABundle = Annotated[
    str,
    rules(
        "Certificates of authorities that the server's own is checked against, as PEM in base64.",
        format="byte",
        min_length=1,
        max_length=51200,
    ),
]
NamespaceSelector = Annotated[
    LabelSelector | None,
    rules("Only objects in namespaces with these labels are told of; in all unless said."),
]
Settings = Annotated[
    dict[str, str], rules("Settings that go with each call, as the extension reads them.")
]


HandlerName = Annotated[
    str,
    rules(
        "The handler's name, and after a dot that of its ExtensionConfig.",
        min_length=1,
        max_length=512,
    ),
]


class ServiceReference(Model):
    """Names a Service in the management cluster."""

    namespace: Annotated[str, rules("The Service's namespace.", min_length=1, max_length=63)]
    name: Annotated[str, rules("The Service's name.", min_length=1, max_length=63)]
    path: Annotated[str, rules("The path that calls begin with.", min_length=1, max_length=512)] = (
        ""
    )
    port: Port = None


class ClientConfig(Model):
    """How an extension server is called: by a URL or by a Service."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    url: Annotated[
        str,
        rules("Where the server is, as in https://host:port/path.", min_length=1, max_length=512),
    ] = ""
    service: Annotated[
        ServiceReference | None, rules("The Service that the server is behind.", zero="omitted")
    ] = None
    ca_bundle: CABundle = ""


class ExtensionConfigSpec(Model):
    """Which server there is and when it is called."""

    client_config: Annotated[ClientConfig, rules("How the server is called.")]
    namespace_selector: NamespaceSelector = None
    settings: Settings = field(default_factory=dict)


class GroupVersionHook(Model):
    """Names a hook in a version."""

    api_version: Annotated[
        str, rules("The group and version of the hook.", min_length=1, max_length=512)
    ]
    hook: Annotated[str, rules("The hook's name.", min_length=1, max_length=256)]


class ExtensionHandler(Model):
    """One handler that the server offers."""

    name: HandlerName
    request_hook: Annotated[GroupVersionHook, rules("The hook that it answers.")]
    timeout_seconds: Annotated[
        int, rules("How long an answer may take.", format="int32", minimum=1)
    ] = 0
    failure_policy: Annotated[
        str,
        rules(
            "What a call that fails means: that all goes on (Ignore) or not (Fail).",
            enum=["Ignore", "Fail"],
        ),
    ] = ""


class ExtensionConfigStatus(Model):
    """What the server said about itself."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Conditions = field(default_factory=list)
    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            "The handlers that the server offers.",
            max_items=512,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    deprecated: Deprecated = None


class ExtensionConfig(Object, kw_only=True):
    """Registers a server of runtime extensions."""

    RESOURCE: ClassVar[Resource] = Resource(
        "runtime.cluster.x-k8s.io",
        "v1beta2",
        "extensionconfigs",
        "ExtensionConfig",
        namespaced=False,
    )

    spec: Annotated[ExtensionConfigSpec, rules("Which server there is and when it is called.")]
    status: Annotated[ExtensionConfigStatus, rules("What the server said about itself.")] = field(
        default_factory=ExtensionConfigStatus
    )
