"""What one reconcile of a ClusterClass works with: its tools, and what it has found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kapy._aio.clock import Clock
from kapy.api.cluster_class import ClusterClass
from kapy.client.client import Client
from kapy.contract.external import External
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.topology.discovery import VariableDiscovery


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reconcile of a ClusterClass uses.

    discovery: asks extensions for variables, None while the RuntimeSDK gate is closed.
    """

    client: Client
    external: External
    classes: Informer[Document]
    clock: Clock
    discovery: VariableDiscovery | None = None


class Outdated(NamedTuple):
    """A reference that does not name the newest version of its kind."""

    kind: str
    name: str
    version: str
    newest: str


@dataclass(slots=True)
class ClassScope:
    """One ClusterClass.

    outdated: references that name an old version. unreadable: why templates cannot be read or
    owned. undiscovered: why the variables are not known.
    """

    tools: Tools
    draft: Draft[ClusterClass]
    now: datetime
    outdated: list[Outdated] = field(default_factory=list)
    unreadable: KapyError | None = None
    undiscovered: KapyError | None = None

    @property
    def cluster_class(self) -> ClusterClass:
        return self.draft.object
