"""The dependencies, inputs and results of one reconcile of a ClusterClass."""

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
class Dependencies:
    """The dependencies of the ClusterClass reconciler.

    discovery: gets the variables of extensions; None if the feature gate RuntimeSDK is off.
    """

    client: Client
    external: External
    classes: Informer[Document]
    clock: Clock
    discovery: VariableDiscovery | None = None


class Outdated(NamedTuple):
    """A reference to a version that is not the newest one of its kind."""

    kind: str
    name: str
    version: str
    newest: str


@dataclass(slots=True)
class ClassScope:
    """The state of one reconcile of a ClusterClass.

    outdated: references to old versions. unreadable: the error because of which templates cannot be
    read or owned. undiscovered: the error because of which the variables are not known.
    """

    dependencies: Dependencies
    draft: Draft[ClusterClass]
    now: datetime
    outdated: list[Outdated] = field(default_factory=list)
    unreadable: KapyError | None = None
    undiscovered: KapyError | None = None

    @property
    def cluster_class(self) -> ClusterClass:
        return self.draft.object
