"""The inventory of a management cluster: one Provider object for each installed provider.

Upstream: `cmd/clusterctl/client/cluster/inventory.go`. An installation writes its Provider object
last and a deletion removes it last, so an interrupted operation is noticed and can be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from kapy.client.client import Client
from kapy.client.server_version import OLDEST, version_problem
from kapy.clusterctl.components import CLUSTERCTL_LABEL, CORE_LABEL, INVENTORY_VERSION
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.provider import ProviderType, manifest_label
from kapy.clusterctl.repository.latest import CONTRACT as CONTRACT
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import wait_until_established
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, NotFound, ServerError, TooManyRequests
from kapy.kube.names import CRDS, Resource, split_api_version

T = TypeVar("T")

PROVIDERS: Final = Resource(*split_api_version(INVENTORY_VERSION), "providers", "Provider")
OLDER_CONTRACT: Final = "v1beta1"
"""Providers of this contract still work; a core provider of it can only be upgraded."""
BUILT_IN: Final = "kapy.cluster.x-k8s.io/built-in"
"""Annotation of Provider objects (and Deployments) of controllers that run inside the plane."""

_CLUSTERS: Final = Key("", "clusters.cluster.x-k8s.io")
_MULTIPLE_INSTANCES_URL: Final = (
    "https://cluster-api.sigs.k8s.io/developer/core/support-multiple-instances"
)


@dataclass(frozen=True)
class Installed:
    """An installed provider. object_name: the name of its Provider object."""

    name: str
    type: ProviderType
    version: str
    namespace: str
    object_name: str = ""
    watched_namespace: str = ""
    built_in: bool = False

    @property
    def label(self) -> str:
        """The provider's label, which also names folders: `infrastructure-aws`."""
        return manifest_label(self.name, self.type)

    @property
    def instance(self) -> str:
        """The instance's name in messages: `capa-system/infrastructure-aws`."""
        return f"{self.namespace}/{self.object_name or self.label}"

    @property
    def key(self) -> Key:
        """The key of its Provider object."""
        return Key(self.namespace, self.object_name or self.label)


class Inventory:
    """The Provider objects of one management cluster, and their CRD.

    reached: the server has answered before, so transient failures are retried.
    """

    def __init__(self, client: Client, *, reached: bool = False) -> None:
        self._client = client
        self._reached = reached
        self._has_defined = False

    async def ensure(self) -> None:
        """Create the Provider CRD if it is missing. Raises InventoryError, ApiErrors."""
        await self._check_kubernetes()
        try:
            result = await self._request(lambda: self._client.get(CRDS, Key.of(DEFINITION)))
        except NotFound:
            await self._define()
            return
        if all(version["name"] != PROVIDERS.version for version in result["spec"]["versions"]):
            raise InventoryError(
                f"clusterctl inventory CRD does not defines the {PROVIDERS.version} version; it "
                "is of another clusterctl, use that one"
            )

    async def _request(self, work: Callable[[], Awaitable[T]]) -> T:
        """Call the server with retries; an unreachable server that never answered is reported at
        once."""
        if self._reached:
            return await retry(work)
        try:
            return await work()
        except (ServerError, TooManyRequests, Conflict):
            return await retry(work)
        finally:
            self._reached = True

    async def _check_kubernetes(self) -> None:
        answer = await self._request(lambda: self._client.raw("GET", "/version"))
        if version_problem(answer, OLDEST):
            raise InventoryError(
                f"unsupported management cluster server version: {answer['gitVersion']} - minimum "
                f"required version is {OLDEST.version}"
            )

    async def _define(self) -> None:
        with suppress(AlreadyExists):  # created concurrently, or by a request without response
            await self._request(lambda: self._client.create(CRDS, DEFINITION))
            self._has_defined = True
        await wait_until_established(self._client, [DEFINITION["metadata"]["name"]])

    async def installed(self) -> list[Installed]:
        """Return all providers, sorted by namespace and name; none without the CRD."""
        try:
            listed = await self._request(lambda: self._client.list(PROVIDERS))
        except NotFound:
            return []
        return [installed_of(item) for item in listed.items]

    async def record(self, provider: Document) -> None:
        """Write the Provider object of an installed provider and its version."""
        key = Key.of(provider)
        try:
            await self._request(lambda: self._client.create(PROVIDERS, provider))
        except AlreadyExists:
            await self._request(lambda: self._client.patch(PROVIDERS, key, provider))

    async def forget(self, provider: Document) -> None:
        """Remove a Provider object."""
        with suppress(NotFound):
            await self._request(lambda: self._client.delete(PROVIDERS, Key.of(provider)))

    async def undefine(self) -> None:
        """Delete the Provider CRD if this inventory created it and no Provider object exists."""
        if self._has_defined and not await self.installed():
            with suppress(NotFound):
                await self._request(lambda: self._client.delete(CRDS, Key.of(DEFINITION)))

    async def check_contract(
        self, *, also: Collection[str] = (), not_installed: bool = False
    ) -> None:
        """Raise InventoryError unless Cluster API is installed with our contract or one of `also`.

        not_installed: also accept a cluster without Cluster API.
        """
        try:
            result = await self._request(lambda: self._client.get(CRDS, _CLUSTERS))
        except NotFound as error:
            if not_installed:
                return
            raise InventoryError(
                f"failed to check Cluster API version: {error}; `init` installs Cluster API"
            ) from None
        stored = next(
            (version["name"] for version in result["spec"]["versions"] if version["storage"]), ""
        )
        if stored not in {CONTRACT, *also}:
            raise InventoryError(
                f'this version of clusterctl could be used only with "{CONTRACT}" management '
                f'clusters, "{stored}" detected; use the clusterctl of that Cluster API'
            )


def installed_of(document: Document) -> Installed:
    """Return the provider of a Provider object. Raises InventoryError for an unknown type."""
    key = Key.of(document)
    try:
        of_type = ProviderType(document.get("type", ""))
    except ValueError:
        raise InventoryError(
            f'Provider {key}: "{document.get("type", "")}" is no type of provider; set it to one '
            f"of {', '.join(provider_type.value for provider_type in ProviderType)}"
        ) from None
    return Installed(
        document.get("providerName", ""),
        of_type,
        document.get("version", ""),
        key.namespace,
        key.name,
        document.get("watchedNamespace", ""),
        BUILT_IN in (document["metadata"].get("annotations") or {}),
    )


def find_installed(
    installed: Iterable[Installed], name: str, of_type: ProviderType
) -> list[Installed]:
    """Return the instances of a provider."""
    return [provider for provider in installed if (provider.name, provider.type) == (name, of_type)]


def default_name(installed: Iterable[Installed], of_type: ProviderType) -> str:
    """Return the name of the only provider of a type, "" if there is none or several."""
    names = {provider.name for provider in installed if provider.type is of_type}
    return names.pop() if len(names) == 1 else ""


def core_of(installed: Iterable[Installed]) -> Installed:
    """Return the core provider. Raises InventoryError unless there is exactly one."""
    cores = [provider for provider in installed if provider.type is ProviderType.CORE]
    if len(cores) != 1:
        raise InventoryError(
            "invalid management cluster: there must be one core provider, found "
            f"{len(cores)}; `init` installs it where there is none"
        )
    return cores[0]


def check_single_instances(installed: Sequence[Installed]) -> None:
    """Raises InventoryError if a provider is installed more than once."""
    instances: dict[str, list[str]] = {}
    for provider in installed:
        instances.setdefault(provider.label, []).append(provider.instance)
    many = [
        f'multiple instance of provider type "{label}" found: [{" ".join(names)}]'
        for label, names in instances.items()
        if len(names) > 1
    ]
    if many:
        raise InventoryError(
            "detected multiple instances of the same provider, but clusterctl does not support "
            f"this use case. See {_MULTIPLE_INSTANCES_URL} for more details: {'; '.join(many)}"
        )


def compatible(contract: str) -> tuple[str, ...]:
    """Return the provider contracts that are compatible with a core provider of `contract`."""
    return (CONTRACT, OLDER_CONTRACT) if contract == CONTRACT else (contract,)


def _text(description: str) -> Document:
    return {"type": "string", "description": description}


def _column(name: str, path: str, of_type: str = "string") -> Document:
    return {"name": name, "jsonPath": path, "type": of_type}


DEFINITION: Final[Document] = {
    "apiVersion": CRDS.api_version,
    "kind": CRDS.kind,
    "metadata": {
        "name": PROVIDERS.group_resource,
        "labels": {CLUSTERCTL_LABEL: "", CORE_LABEL: "inventory"},
    },
    "spec": {
        "group": PROVIDERS.group,
        "names": {
            "categories": ["cluster-api"],
            "kind": PROVIDERS.kind,
            "listKind": "ProviderList",
            "plural": PROVIDERS.plural,
            "singular": "provider",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": PROVIDERS.version,
                "served": True,
                "storage": True,
                "subresources": {},
                "additionalPrinterColumns": [
                    _column("Age", ".metadata.creationTimestamp", "date"),
                    _column("Type", ".type"),
                    _column("Provider", ".providerName"),
                    _column("Version", ".version"),
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": (
                            "Provider records that clusterctl has installed a provider in this "
                            "management cluster."
                        ),
                        "properties": {
                            "apiVersion": _text(
                                "apiVersion is the API group and version of the object."
                            ),
                            "kind": _text("kind is the kind of the object."),
                            "metadata": {"type": "object"},
                            "providerName": _text(
                                "providerName is the name of the provider, for example aws or "
                                "kubeadm. clusterctl finds the releases of the provider by it."
                            ),
                            "type": _text(
                                "type is the type of the provider. Values are CoreProvider, "
                                "BootstrapProvider, ControlPlaneProvider, InfrastructureProvider, "
                                "IPAMProvider, RuntimeExtensionProvider and AddonProvider."
                            ),
                            "version": _text(
                                "version is the installed version of the provider, for example "
                                "v1.14.0. clusterctl changes it after an upgrade."
                            ),
                            "watchedNamespace": _text(
                                "watchedNamespace was the namespace that the provider watched. It "
                                "is deprecated and empty. All providers watch all namespaces."
                            ),
                        },
                    }
                },
            }
        ],
    },
}
"""The CRD of Provider, as upstream's clusterctl makes it."""
