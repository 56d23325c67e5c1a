"""Calls the extensions that define variables of a ClusterClass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_patches import ExternalPatchDefinition
from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.hooks.caller import Caller, Subject
from kapy.hooks.errors import HookError
from kapy.hooks.messages.topology_mutation import DISCOVER_VARIABLES, DiscoverVariablesRequest
from kapy.kube.model import decode

KIND: Final = ClusterClass.RESOURCE.kind


class Variables:
    """Calls the extension of a patch (a `kapy.topology.discovery.VariableDiscovery`)."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def discover_variables(
        self, cluster_class: ClusterClass, patch: ExternalPatchDefinition
    ) -> Sequence[ClusterClassVariable]:
        response = await self._caller.call(
            DISCOVER_VARIABLES,
            patch.discover_variables_extension,
            Subject(KIND, cluster_class.key),
            DiscoverVariablesRequest(settings=dict(patch.settings)),
            keep=True,
        )
        try:
            return [decode(variable, ClusterClassVariable) for variable in response.variables]
        except msgspec.ValidationError as error:
            name = patch.discover_variables_extension
            raise HookError(
                f'extension handler "{name}" tells variables that are no variables: {error}'
            ) from None
