"""What is installed in a management cluster: one Provider object for each provider.

Upstream: `cmd/clusterctl/client/cluster/inventory.go`. The Provider objects are the last thing
that an installation writes and the last that a deletion removes, so whatever was interrupted is
seen, and can be done again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from kapy.client.client import Client
from kapy.client.server_version import OLDEST, too_old
from kapy.clusterctl.components import CLUSTERCTL_LABEL, CORE_LABEL, INVENTORY_VERSION
from kapy.clusterctl.errors import InventoryError
from kapy.clusterctl.provider import ProviderType, manifest_label
from kapy.clusterctl.repository.latest import CONTRACT as CONTRACT
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import until_established
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, NotFound, ServerError, TooManyRequests
from kapy.kube.names import CRDS, Resource, split_api_version

T = TypeVar("T")

PROVIDERS: Final = Resource(*split_api_version(INVENTORY_VERSION), "providers", "Provider")
OLDER_CONTRACT: Final = "v1beta1"
"""Providers of it still work; a core of it can only be upgraded."""
BUILT_IN: Final = "kapy.cluster.x-k8s.io/built-in"
"""Annotation of Provider objects (and Deployments) of what runs inside the plane itself."""

_CLUSTERS: Final = Key("", "clusters.cluster.x-k8s.io")
_MANY: Final = "https://cluster-api.sigs.k8s.io/developer/core/support-multiple-instances"


@dataclass(frozen=True)
class Installed:
    """A provider that is installed. object_name: of its Provider object."""

    name: str
    type: ProviderType
    version: str
    namespace: str
    object_name: str = ""
    watched_namespace: str = ""
    built_in: bool = False

    @property
    def label(self) -> str:
        """As labels and folders call it: `infrastructure-aws`."""
        return manifest_label(self.name, self.type)

    @property
    def instance(self) -> str:
        """As messages call it: `capa-system/infrastructure-aws`."""
        return f"{self.namespace}/{self.object_name or self.label}"

    @property
    def key(self) -> Key:
        """Of its Provider object."""
        return Key(self.namespace, self.object_name or self.label)


class Inventory:
    """The Provider objects of one management cluster, and their definition.

    reached: the server has answered already, so it is worth some patience.
    """

    def __init__(self, client: Client, *, reached: bool = False) -> None:
        self._client = client
        self._reached = reached
        self._has_defined = False

    async def ensure(self) -> None:
        """Define the kind Provider where it is not. Raises InventoryError, ApiErrors."""
        await self._check_kubernetes()
        try:
            found = await self._ask(lambda: self._client.get(CRDS, Key.of(DEFINITION)))
        except NotFound:
            await self._define()
            return
        if all(one["name"] != PROVIDERS.version for one in found["spec"]["versions"]):
            raise InventoryError(
                f"clusterctl inventory CRD does not defines the {PROVIDERS.version} version; it "
                "is of another clusterctl, use that one"
            )

    async def _ask(self, work: Callable[[], Awaitable[T]]) -> T:
        """An answer, with patience; but a server that was never reached is told at once."""
        if self._reached:
            return await retry(work)
        try:
            return await work()
        except (ServerError, TooManyRequests, Conflict):
            return await retry(work)
        finally:
            self._reached = True

    async def _check_kubernetes(self) -> None:
        answer = await self._ask(lambda: self._client.raw("GET", "/version"))
        if too_old(answer, OLDEST):
            raise InventoryError(
                f"unsupported management cluster server version: {answer['gitVersion']} - minimum "
                f"required version is {OLDEST.version}"
            )

    async def _define(self) -> None:
        with suppress(AlreadyExists):  # made meanwhile, or by a try whose answer was lost
            await self._ask(lambda: self._client.create(CRDS, DEFINITION))
            self._has_defined = True
        await until_established(self._client, [DEFINITION["metadata"]["name"]])

    async def installed(self) -> list[Installed]:
        """All providers, in the order of their namespaces and names; none without the CRD."""
        try:
            listed = await self._ask(lambda: self._client.list(PROVIDERS))
        except NotFound:
            return []
        return [installed_of(one) for one in listed.items]

    async def record(self, provider: Document) -> None:
        """Write a Provider object: the provider is installed, in this version."""
        key = Key.of(provider)
        try:
            await self._ask(lambda: self._client.create(PROVIDERS, provider))
        except AlreadyExists:
            await self._ask(lambda: self._client.patch(PROVIDERS, key, provider))

    async def forget(self, provider: Document) -> None:
        """Remove a Provider object."""
        with suppress(NotFound):
            await self._ask(lambda: self._client.delete(PROVIDERS, Key.of(provider)))

    async def undefine(self) -> None:
        """Remove the kind Provider where this inventory has defined it and there is none of it."""
        if self._has_defined and not await self.installed():
            with suppress(NotFound):
                await self._ask(lambda: self._client.delete(CRDS, Key.of(DEFINITION)))

    async def check_contract(
        self, *, also: Collection[str] = (), not_installed: bool = False
    ) -> None:
        """Raises InventoryError unless Cluster API is there, of our contract or one of `also`.

        not_installed: it need not be there.
        """
        try:
            found = await self._ask(lambda: self._client.get(CRDS, _CLUSTERS))
        except NotFound as error:
            if not_installed:
                return
            raise InventoryError(
                f"failed to check Cluster API version: {error}; `init` installs Cluster API"
            ) from None
        stored = next((one["name"] for one in found["spec"]["versions"] if one["storage"]), "")
        if stored not in {CONTRACT, *also}:
            raise InventoryError(
                f'this version of clusterctl could be used only with "{CONTRACT}" management '
                f'clusters, "{stored}" detected; use the clusterctl of that Cluster API'
            )


def installed_of(document: Document) -> Installed:
    """What a Provider object says. Raises InventoryError where its type is none."""
    key = Key.of(document)
    try:
        of_type = ProviderType(document.get("type", ""))
    except ValueError:
        raise InventoryError(
            f'Provider {key}: "{document.get("type", "")}" is no type of provider; set it to one '
            f"of {', '.join(one.value for one in ProviderType)}"
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


def named(installed: Iterable[Installed], name: str, of_type: ProviderType) -> list[Installed]:
    """The instances of a provider."""
    return [one for one in installed if (one.name, one.type) == (name, of_type)]


def default_name(installed: Iterable[Installed], of_type: ProviderType) -> str:
    """The name of the only provider of a type, "" where there is none or more than one."""
    names = {one.name for one in installed if one.type is of_type}
    return names.pop() if len(names) == 1 else ""


def core_of(installed: Iterable[Installed]) -> Installed:
    """The core provider. Raises InventoryError unless there is exactly one."""
    cores = [one for one in installed if one.type is ProviderType.CORE]
    if len(cores) != 1:
        raise InventoryError(
            "invalid management cluster: there must be one core provider, found "
            f"{len(cores)}; `init` installs it where there is none"
        )
    return cores[0]


def check_single_instances(installed: Sequence[Installed]) -> None:
    """Raises InventoryError where a provider is there more than once."""
    instances: dict[str, list[str]] = {}
    for one in installed:
        instances.setdefault(one.label, []).append(one.instance)
    many = [
        f'multiple instance of provider type "{label}" found: [{" ".join(names)}]'
        for label, names in instances.items()
        if len(names) > 1
    ]
    if many:
        raise InventoryError(
            "detected multiple instances of the same provider, but clusterctl does not support "
            f"this use case. See {_MANY} for more details: {'; '.join(many)}"
        )


def compatible(contract: str) -> tuple[str, ...]:
    """The contracts that providers may have beside a core of `contract`."""
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
