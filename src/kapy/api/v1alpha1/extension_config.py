"""ExtensionConfig as v1alpha1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import extension_config
from kapy.api.extension_config import CABundle, NamespaceSelector, Port, Settings
from kapy.api.v1beta1.embedded import OldConditions, V1Beta2
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class ServiceReference(OldModel):
    """Names a Service in the management cluster."""

    namespace: Annotated[str, rules("The Service's namespace.", min_length=1, max_length=63)]
    name: Annotated[str, rules("The Service's name.", min_length=1, max_length=63)]
    path: Annotated[
        str | None, rules("The path that calls begin with.", min_length=1, max_length=512)
    ] = None
    port: Port = None


class ClientConfig(OldModel):
    """How an extension server is called: by a URL or by a Service."""

    url: Annotated[
        str | None,
        rules("Where the server is, as in https://host:port/path.", min_length=1, max_length=512),
    ] = None
    service: Annotated[ServiceReference | None, rules("The Service that the server is behind.")] = (
        None
    )
    ca_bundle: CABundle = ""


class ExtensionConfigSpec(OldModel):
    """Which server there is and when it is called."""

    client_config: Annotated[ClientConfig, rules("How the server is called.")]
    namespace_selector: NamespaceSelector = None
    settings: Settings = field(default_factory=dict)


class GroupVersionHook(extension_config.GroupVersionHook):
    """Names a hook in a version."""

    ZEROS: ClassVar[bool] = True


class ExtensionHandler(OldModel):
    """One handler that the server offers."""

    name: extension_config.HandlerName
    request_hook: Annotated[GroupVersionHook, rules("The hook that it answers.")]
    timeout_seconds: Annotated[
        int | None, rules("How long an answer may take.", format="int32")
    ] = None
    failure_policy: Annotated[
        str | None,
        rules(
            "What a call that fails means: that all goes on (Ignore) or not (Fail).",
            enum=["Ignore", "Fail"],
        ),
    ] = None


class ExtensionConfigStatus(OldModel):
    """What the server said about itself."""

    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            "The handlers that the server offers.",
            max_items=512,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class ExtensionConfig(OldObject, kw_only=True):
    """Registers a server of runtime extensions."""

    RESOURCE: ClassVar[Resource] = Resource(
        "runtime.cluster.x-k8s.io",
        "v1alpha1",
        "extensionconfigs",
        "ExtensionConfig",
        namespaced=False,
    )

    spec: Annotated[ExtensionConfigSpec, rules("Which server there is and when it is called.")] = (
        field(default_factory=lambda: ExtensionConfigSpec(client_config=ClientConfig()))
    )
    status: Annotated[ExtensionConfigStatus, rules("What the server said about itself.")] = field(
        default_factory=ExtensionConfigStatus
    )
