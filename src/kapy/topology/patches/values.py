"""The variables that apply to one template, for patches of one source."""

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
from kapy.topology.builtins import merge
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.rendering import Outcome, RenderFailure, Rendering, template_data


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a cluster with variable overrides: its control plane or one worker group.

    name: the topology name, "" for the control plane.
    """

    name: str
    overrides: Sequence[ClusterVariable]
    builtins: Document

    @property
    def key(self) -> str:
        """A key that is unique within the cluster."""
        return f"{next(iter(self.builtins))} {self.name}"


class Values:
    """The variables of the cluster and of one part of it, by name. The documents are shared and
    never changed."""

    def __init__(
        self, cluster: Document, own: Document, rendering: Rendering | None = None
    ) -> None:
        """Hold the values of patches. rendering: renders templates for all parts of the cluster."""
        self.cluster = cluster
        self.own = own
        self._rendering = rendering or Rendering()
        self._long: dict[str, Outcome] = {}

    @cached_property
    def all(self) -> Document:
        """The variables of cluster and part: the part's values win, and both `builtin` documents
        are merged."""
        result = {**self.cluster, **self.own}
        if BUILTIN in self.cluster and BUILTIN in self.own:
            result[BUILTIN] = merge(self.cluster[BUILTIN], self.own[BUILTIN])
        return result

    @cached_property
    def data(self) -> Document:
        """All variables in the form that templates see."""
        return template_data(self.all)

    def render(self, template: str) -> Any:
        """Return the value of a template with these variables. Raises NoValue, and LongTemplate if
        it must be rendered outside the event loop.

        The result is cached, since each reconcile renders with the same variables.
        """
        outcome = self._long.get(template) or _OUTCOMES.get((self._digest, template))
        if outcome is None:
            outcome = self._rendering.outcome(template, self)
        if isinstance(outcome, RenderFailure):
            raise NoValue(outcome.reason)
        return outcome.value

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(msgspec.json.encode(self.all), digest_size=16).digest()

    def keep(self, template: str, outcome: Outcome, *, long: bool = False) -> None:
        """Cache the outcome of a template. long: it may be large, so it is kept for this reconcile
        only."""
        if long:
            self._long[template] = outcome
            return
        if len(_OUTCOMES) >= _MAX_OUTCOMES:
            del _OUTCOMES[next(iter(_OUTCOMES))]
        _OUTCOMES[self._digest, template] = outcome

    @property
    def machine_deployment_class(self) -> str | None:
        """The class of the MachineDeployment, if the part is one; else None."""
        return self._class("machineDeployment")

    @property
    def machine_pool_class(self) -> str | None:
        """The class of the MachinePool, if the part is one; else None."""
        return self._class("machinePool")

    def _class(self, kind: str) -> str | None:
        result: Any = self.own.get(BUILTIN, {}).get(kind, {}).get("class")
        return result if isinstance(result, str) else None


_OUTCOMES: Final[dict[tuple[bytes, str], Outcome]] = {}
"""Cached outcomes of templates, keyed by the digest of the variables and the template."""

_MAX_OUTCOMES: Final = 16_384


class SourceValues:
    """The variables of a cluster that patches of one source see: those that the source defines, and
    `builtin`. Patches to templates do not change them."""

    def __init__(
        self,
        values: Sequence[ClusterVariable],
        builtins: Document,
        defined: frozenset[str],
        rendering: Rendering | None = None,
    ) -> None:
        """Ignore a user's variable with the name `builtin`."""
        self.cluster = {**_select_defined(values, defined - {BUILTIN}), BUILTIN: builtins}
        self._defined = defined
        self._parts: dict[str | None, Values] = {}
        self._rendering = rendering or Rendering()

    def of(self, part: Part | None) -> Values:
        """Return the variables of one part, or of the whole cluster for None."""
        key = None if part is None else part.key
        result = self._parts.get(key)
        if result is None:
            own = {}
            if part is not None:
                own = {**_select_defined(part.overrides, self._defined), BUILTIN: part.builtins}
            result = self._parts[key] = Values(self.cluster, own, self._rendering)
        return result


def _select_defined(values: Sequence[ClusterVariable], defined: frozenset[str]) -> Document:
    return {variable.name: variable.value for variable in values if variable.name in defined}


def defined_by(cluster_class: ClusterClass, source: str) -> frozenset[str]:
    """Return the variables that a source defines. source: `inline` or the name of an external
    patch.
    """
    return frozenset(
        variable.name
        for variable in cluster_class.status.variables
        if any(definition.from_ == source for definition in variable.definitions)
    )
