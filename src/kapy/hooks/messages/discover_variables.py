"""DiscoverVariables: the variables that the patches of an extension use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, Self

from msgspec import field

from kapy.api.cluster_class_variables import ClusterClassVariable
from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import CLASS_VARIABLE
from kapy.hooks.messages.message import Request, Response
from kapy.hooks.messages.templates import MUTATION
from kapy.kube import Document
from kapy.kube.model import encode, rules


class DiscoverVariablesRequest(Request, kw_only=True):
    """Asks DiscoverVariables."""


class DiscoverVariablesResponse(Response):
    """Answers DiscoverVariables."""

    variables: Annotated[
        list[Document],
        rules("The variables, as a ClusterClass defines them.", of=CLASS_VARIABLE),
    ] = field(default_factory=list)

    @classmethod
    def listing(cls, variables: Iterable[ClusterClassVariable]) -> Self:
        """The answer with these variables."""
        return cls(variables=[encode(one) for one in variables])


DISCOVER_VARIABLES: Final = Hook(
    "DiscoverVariables",
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
    tags=MUTATION,
    summary="Asked which variables the patches of an extension use",
    description=(
        "Called when a ClusterClass is reconciled that names the handler. The answer has all "
        "variables of the patch with their schemas; Clusters can then set them."
    ),
)
