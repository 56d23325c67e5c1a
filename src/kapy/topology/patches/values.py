"""The variables that count for one template, as the patches of one source see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import msgspec

from kapy.api.cluster_class import ClusterClass
from kapy.api.embedded import ClusterVariable
from kapy.api.validation.cluster_class_variables import BUILTIN
from kapy.kube import Document
from kapy.topology.builtins import merged
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.rendering import Outcome, Rendering, Unable
from kapy.topology.patches.templates import template_data


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a cluster that variables may be overridden for: its control plane, or one group of
    workers. name: within the topology, "" for the control plane."""

    name: str
    overrides: Sequence[ClusterVariable]
    builtins: Document

    @property
    def key(self) -> str:
        """Tells it from all other parts of its cluster."""
        return f"{next(iter(self.builtins))} {self.name}"


class Values:
    """Variables of the cluster and of one part of it, by name. Shared documents, never changed."""

    def __init__(
        self, cluster: Document, own: Document, rendering: Rendering | None = None
    ) -> None:
        """rendering: renders the templates of all parts of the cluster."""
        self.cluster = cluster
        self.own = own
        self._rendering = rendering or Rendering()
        self._long: dict[str, Outcome] = {}

    @cached_property
    def all(self) -> Document:
        """Both: what is said of the part counts, but `builtin` is told by both."""
        found = {**self.cluster, **self.own}
        if BUILTIN in self.cluster and BUILTIN in self.own:
            found[BUILTIN] = merged(self.cluster[BUILTIN], self.own[BUILTIN])
        return found

    @cached_property
    def data(self) -> Document:
        """All of them, as templates see them."""
        return template_data(self.all)

    def rendered(self, template: str) -> Any:
        """The value that a template makes of them. Raises NoValue, and LongTemplate where that has
        to be found out elsewhere than on the event loop.

        Reconciles come again and again with the same variables: what a template has made of them is
        kept.
        """
        known = self._long.get(template) or _MADE.get((self._digest, template))
        if known is None:
            known = self._rendering.outcome(template, self)
        if isinstance(known, Unable):
            raise NoValue(known.why)
        return known.value

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(msgspec.json.encode(self.all), digest_size=16).digest()

    def keep(self, template: str, outcome: Outcome, *, long: bool = False) -> None:
        """Remember what a template has made. long: it may be large, and is kept for this reconcile
        only."""
        if long:
            self._long[template] = outcome
            return
        if len(_MADE) >= _MOST_MADE:
            del _MADE[next(iter(_MADE))]
        _MADE[self._digest, template] = outcome

    @property
    def machine_deployment_class(self) -> str | None:
        """The class of the MachineDeployment, if the part is one."""
        return self._class("machineDeployment")

    @property
    def machine_pool_class(self) -> str | None:
        """The class of the MachinePool, if the part is one."""
        return self._class("machinePool")

    def _class(self, kind: str) -> str | None:
        found: Any = self.own.get(BUILTIN, {}).get(kind, {}).get("class")
        return found if isinstance(found, str) else None


_MADE: Final[dict[tuple[bytes, str], Outcome]] = {}
"""What templates have made of variables, which are known by their digest."""

_MOST_MADE: Final = 16_384


class SourceValues:
    """The variables of a cluster as the patches of one source see them: those that the source
    defines, and `builtin`. They stay the same however the templates change."""

    def __init__(
        self,
        values: Sequence[ClusterVariable],
        builtins: Document,
        defined: frozenset[str],
        rendering: Rendering | None = None,
    ) -> None:
        """A user's variable that is called `builtin` is none."""
        self.cluster = {**_defined(values, defined - {BUILTIN}), BUILTIN: builtins}
        self._defined = defined
        self._parts: dict[str | None, Values] = {}
        self._rendering = rendering or Rendering()

    def of(self, part: Part | None) -> Values:
        """For one part; None: for what belongs to the whole cluster."""
        key = None if part is None else part.key
        found = self._parts.get(key)
        if found is None:
            own = {}
            if part is not None:
                own = {**_defined(part.overrides, self._defined), BUILTIN: part.builtins}
            found = self._parts[key] = Values(self.cluster, own, self._rendering)
        return found


def _defined(values: Sequence[ClusterVariable], defined: frozenset[str]) -> Document:
    return {one.name: one.value for one in values if one.name in defined}


def defined_by(cluster_class: ClusterClass, source: str) -> frozenset[str]:
    """The variables that a source defines: `inline`, or the name of an external patch."""
    return frozenset(
        one.name
        for one in cluster_class.status.variables
        if any(definition.from_ == source for definition in one.definitions)
    )
