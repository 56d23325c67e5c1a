"""A custom infrastructure provider in a simulation, and the boot of its machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kapy._aio.services import Service
from kapy.apps.manifests import apply_manifests
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from kapy.testing.conformance.embedded import install
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest

PROVIDER: Final = "provider"
"""The name of the custom provider's manager in points."""
CLUSTER: Final = "DevCluster"
MACHINE: Final = "DevMachine"
_CLUSTER_TEMPLATE: Final = "DevClusterTemplate"
_MACHINE_TEMPLATE: Final = "DevMachineTemplate"


class NotSimulated(KapyError):
    """The provider cannot be played in clusters; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The provider of one run. add_to: adds its controllers to each new process. inventory: returns
    the names of the existing resources in its cloud; None if the provider cannot list them. lines:
    returns the state of its cloud as text lines; None if the provider cannot list it."""

    add_to: Callable[[Runtime], Mapping[str, Service] | None]
    inventory: Callable[[], Iterable[str]] | None = None
    lines: Callable[[], Iterable[str]] | None = None


@dataclass(frozen=True, eq=False)
class CustomProvider:
    """An infrastructure provider that takes the place of the in-memory one.

    cluster, machine: its kinds of infrastructure clusters and machines. new: returns the provider
    of a new run, with a new cloud. options: the options of the command that replays a run.
    """

    under_test: ProviderUnderTest
    cluster: Kind
    machine: Kind
    new: Callable[[], Instance]
    options: str = ""

    @property
    def name(self) -> str:
        """The name of its release."""
        return self.under_test.name

    @property
    def resources(self) -> Mapping[str, Resource]:
        """The resources of its kinds, by the in-memory kinds whose place they take."""
        return {CLUSTER: self.cluster.resource, MACHINE: self.machine.resource}

    async def install(self, client: Client) -> None:
        """Install the provider's CRDs, its permissions, and the objects that its examples
        refer to.
        """
        await install(client, self.under_test)
        await apply_manifests(client, list(self.under_test.extras))

    def in_place_of_in_memory(self, documents: Sequence[Document]) -> list[Document]:
        """Return manifests with the objects of this provider instead of in-memory ones.

        Raises NotSimulated if it has no kind for one of them.
        """
        return [self._replace(self._object(document)) for document in documents]

    def _object(self, document: Document) -> Document:
        kind = document["kind"]
        if kind == CLUSTER:
            spec: Any = self.cluster.example.get("spec") or {}
        elif kind == _CLUSTER_TEMPLATE:
            spec = {"template": {"spec": self.cluster.example.get("spec") or {}}}
        elif kind == _MACHINE_TEMPLATE:
            spec = {"template": {"spec": self.machine.example.get("spec") or {}}}
        else:
            return document
        return {**document, "spec": spec}

    def _replace(self, value: Any) -> Any:
        """Replace kind and API version of objects and references, however deeply nested."""
        if isinstance(value, list):
            return [self._replace(item) for item in value]
        if not isinstance(value, dict):
            return value
        result = {name: self._replace(part) for name, part in value.items()}
        resource = self._resource(value.get("kind"))
        if resource is not None:
            result["kind"] = resource.kind
            if "apiVersion" in value:
                result["apiVersion"] = resource.api_version
            if "apiGroup" in value:
                result["apiGroup"] = resource.group
        return result

    def _resource(self, kind: Any) -> Resource | None:
        if kind in (CLUSTER, MACHINE):
            return self.resources[kind]
        if kind not in (_CLUSTER_TEMPLATE, _MACHINE_TEMPLATE):
            return None
        own = self.cluster if kind == _CLUSTER_TEMPLATE else self.machine
        if own.template is None:
            raise NotSimulated(
                f"{self.name} has no kind {own.resource.kind}Template; this scenario needs one"
            )
        return own.template


def custom_provider(
    under_test: ProviderUnderTest, new: Callable[[], Instance], options: str = ""
) -> CustomProvider:
    """Return a provider for simulations. Raises NotSimulated if it is no infrastructure
    provider.
    """
    kinds = {kind.role: kind for kind in reversed(under_test.kinds)}
    missing = [role for role in ("infra-cluster", "infra-machine") if role not in kinds]
    if missing:
        raise NotSimulated(
            f"{under_test.name} has no kind of {' and '.join(missing)} with an example: only "
            "infrastructure providers are played in whole clusters"
        )
    return CustomProvider(under_test, kinds["infra-cluster"], kinds["infra-machine"], new, options)


def instances(provider: Any) -> Callable[[], Instance]:
    """Return the factory of instances.

    provider: a class, of which each run has an object with `add_to` and perhaps `inventory`, or a
    function, which makes its cloud anew in each process.
    """
    if not isinstance(provider, type):
        return lambda: Instance(provider)

    def of_class() -> Instance:
        instance: Any = provider()
        return Instance(instance.add_to, getattr(instance, "inventory", None))

    return of_class
