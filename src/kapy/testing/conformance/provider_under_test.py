"""The provider under test: its kinds, examples of their objects, and its launcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kapy.contract.fields import CURRENT, Version
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.testing.fake_core import KUBERNETES_VERSION

if TYPE_CHECKING:
    from kapy.apiserver.admission.plugin import Admission
    from kapy.testing.conformance.environment import Environment


@dataclass(frozen=True)
class Kind:
    """A kind with its contract role.

    role: the page of the contract, such as `infra-machine`. example: an object as users write it;
    its name and namespace are replaced. template: the kind of its templates.
    """

    role: str
    resource: Resource
    example: Document
    contract: Version = CURRENT
    template: Resource | None = None

    @classmethod
    def of(cls, role: str, kind: type[Any] | Resource, example: Document) -> Kind:
        """Return the kind of a Struct or a Resource under the current contract."""
        return cls(role, kind if isinstance(kind, Resource) else kind.RESOURCE, example)


@dataclass(frozen=True)
class Limits:
    """The values of `--namespace` and `--watch-filter`; "": no limit."""

    namespace: str = ""
    watch_filter: str = ""


@dataclass(frozen=True)
class Timeouts:
    """Time limits in seconds.

    quiet: the time after which a reaction is taken not to occur. within: the time in which a
    reaction has to occur. check: the limit for one check. whole: the limit for all checks.
    """

    quiet: float
    within: float
    check: float
    whole: float

    def with_overrides(self, quiet: float | None, within: float | None) -> Timeouts:
        """Return the time limits with overrides; the limits of checks grow in proportion."""
        slower = max(1.0, (within or 0) / self.within)
        return Timeouts(
            quiet or self.quiet, within or self.within, self.check * slower, self.whole * slower
        )


VIRTUAL = Timeouts(quiet=30, within=600, check=7200, whole=86400)
"""The time limits on virtual time, on which waiting costs nothing."""
REAL = Timeouts(quiet=5, within=40, check=100, whole=170)


class Launcher(Protocol):
    """Launches a provider for checks.

    network: whether it needs an API server that listens on a port. restarts: whether it can be
    started with other flags, and again after its end.
    """

    @property
    def network(self) -> bool: ...

    @property
    def restarts(self) -> bool: ...

    def running(
        self, environment: Environment, limits: Limits
    ) -> AbstractAsyncContextManager[None]:
        """Run the provider in the environment while the context is open; kill it at the end.

        Raises SubjectError if it does not start; cancels the body and raises it when the provider
        ends.
        """
        ...


@dataclass(frozen=True)
class ProviderUnderTest:
    """A provider that is checked, with the examples and the launcher for the checks.

    definitions: CRDs and other objects that are installed first; kinds without a CRD get one that
    accepts every field. extras: objects such as Secrets that its examples need. user: its user
    name, "" for an administrator. kubernetes_version: the Kubernetes version of all machines.
    """

    name: str
    kinds: tuple[Kind, ...]
    launcher: Launcher
    definitions: Sequence[Document] = ()
    extras: Sequence[Document] = ()
    user: str = ""
    admission: Sequence[Admission] = ()
    kinds_without_example: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unreached: bool = False
    kubernetes_version: str = KUBERNETES_VERSION

    def kinds_of_role(self, role: str) -> list[Kind]:
        """Return the provider's kinds that have a contract role."""
        return [kind for kind in self.kinds if kind.role == role]
