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
    namespace: Annotated[str, rules(min_length=1, max_length=63)]
    name: Annotated[str, rules(min_length=1, max_length=63)]
    path: Annotated[str | None, rules(min_length=1, max_length=512)] = None
    port: Port = None


class ClientConfig(OldModel):
    url: Annotated[
        str | None,
        rules(min_length=1, max_length=512),
    ] = None
    service: ServiceReference | None = None
    ca_bundle: CABundle = ""


class ExtensionConfigSpec(OldModel):
    client_config: ClientConfig
    namespace_selector: NamespaceSelector = None
    settings: Settings = field(default_factory=dict)


class GroupVersionHook(extension_config.GroupVersionHook):
    ZEROS: ClassVar[bool] = True


class ExtensionHandler(OldModel):
    name: extension_config.HandlerName
    request_hook: GroupVersionHook
    timeout_seconds: Annotated[int | None, rules(format="int32")] = None
    failure_policy: Annotated[
        str | None,
        rules(
            enum=["Ignore", "Fail"],
        ),
    ] = None


class ExtensionConfigStatus(OldModel):
    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            max_items=512,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None


class ExtensionConfig(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "runtime.cluster.x-k8s.io",
        "v1alpha1",
        "extensionconfigs",
        "ExtensionConfig",
        namespaced=False,
    )

    spec: ExtensionConfigSpec = field(
        default_factory=lambda: ExtensionConfigSpec(client_config=ClientConfig())
    )
    status: ExtensionConfigStatus = field(default_factory=ExtensionConfigStatus)
