"""What is judged while it runs: a provider, its kinds, and examples of their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kapy.contract.fields import CURRENT, Version
from kapy.kube import Document
from kapy.kube.names import Resource

if TYPE_CHECKING:
    from kapy.apiserver.admission import Admission
    from kapy.testing.conformance.ground import Ground


@dataclass(frozen=True)
class Kind:
    """A kind with the part that a contract gives to it.

    role: the page of the contract, as `infra-machine`. example: an object of it, as users write
    them; its name and namespace do not matter. template: the kind of its templates.
    """

    role: str
    resource: Resource
    example: Document
    contract: Version = CURRENT
    template: Resource | None = None

    @classmethod
    def of(cls, role: str, kind: type[Any] | Resource, example: Document) -> Kind:
        """The kind of a Struct or a Resource, by the contract of today."""
        return cls(role, kind if isinstance(kind, Resource) else kind.RESOURCE, example)


@dataclass(frozen=True)
class Limits:
    """What `--namespace` and `--watch-filter` say; "": nothing."""

    namespace: str = ""
    watch_filter: str = ""


@dataclass(frozen=True)
class Patience:
    """Seconds.

    quiet: after which what has not happened is taken not to happen. within: in which things have
    to happen. check: for one check. whole: for all of them.
    """

    quiet: float
    within: float
    check: float
    whole: float

    def told(self, quiet: float | None, within: float | None) -> Patience:
        """With other seconds, where they are given; checks and all of them take longer then."""
        slower = max(1.0, (within or 0) / self.within)
        return Patience(
            quiet or self.quiet, within or self.within, self.check * slower, self.whole * slower
        )


VIRTUAL = Patience(quiet=30, within=600, check=7200, whole=86400)
"""On virtual time, where waiting costs nothing."""
REAL = Patience(quiet=5, within=40, check=100, whole=170)


class Way(Protocol):
    """How a provider runs.

    network: whether it needs an API server that listens. restarts: whether it can be started with
    other flags, and again after its end.
    """

    @property
    def network(self) -> bool: ...

    @property
    def restarts(self) -> bool: ...

    def running(self, ground: Ground, limits: Limits) -> AbstractAsyncContextManager[None]:
        """It runs on that ground while the context is open, and ends abruptly with it.

        Raises SubjectError where it does not start; the body is cancelled with one when it dies.
        """
        ...


@dataclass(frozen=True)
class Subject:
    """A provider.

    definitions: CRDs and other objects that are installed before it starts; kinds without a CRD
    among them get one that lets every field through. extras: what its examples need beside them,
    as Secrets. rights: who it is to the API server, "" for somebody who may do everything.
    """

    name: str
    kinds: tuple[Kind, ...]
    way: Way
    definitions: Sequence[Document] = ()
    extras: Sequence[Document] = ()
    rights: str = ""
    admission: Sequence[Admission] = ()
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unreached: bool = False

    def of(self, role: str) -> list[Kind]:
        """Its kinds with a part."""
        return [one for one in self.kinds if one.role == role]
