"""ExtensionConfig, IPAddress and IPAddressClaim in v1alpha1."""

from typing import Annotated, Final

from kapy.api import extension_config, ip_address
from kapy.api.core_v1 import TypedLocalObjectReference
from kapy.api.older.difference import Difference, added, pointers, removed, retyped
from kapy.api.v1beta1.addons import ADDRESS_REF, IP_ADDRESS
from kapy.api.v1beta1.embedded import CONDITIONS, V1Beta2
from kapy.kube.model import rules

DIFFERENCES: Final = (
    Difference(extension_config.ServiceReference, pointers("path")),
    Difference(extension_config.ClientConfig, pointers("url")),
    Difference(extension_config.ExtensionConfigSpec),
    Difference(extension_config.GroupVersionHook),
    Difference(
        extension_config.ExtensionHandler,
        retyped(timeout_seconds=Annotated[int | None, rules(format="int32")]),
        pointers("failure_policy"),
    ),
    Difference(
        extension_config.ExtensionConfigStatus,
        removed("deprecated"),
        retyped(**CONDITIONS),
        added(v1beta2=V1Beta2),
    ),
    IP_ADDRESS,
    Difference(
        ip_address.IPAddressClaimSpec,
        removed("cluster_name"),
        retyped(pool_ref=TypedLocalObjectReference),
    ),
    Difference(
        ip_address.IPAddressClaimStatus,
        removed("deprecated"),
        retyped(**CONDITIONS, address_ref=ADDRESS_REF),
    ),
)
