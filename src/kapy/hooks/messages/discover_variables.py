"""DiscoverVariables: asks for the variables that the patches of an extension use."""

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
    """DiscoverVariablesRequest is the request of the DiscoverVariables hook."""


class DiscoverVariablesResponse(Response):
    """DiscoverVariablesResponse is the response of the DiscoverVariables hook."""

    variables: Annotated[
        list[Document],
        rules(
            "variables are the definitions of variables, in the format of spec.variables of "
            "a ClusterClass.",
            of=CLASS_VARIABLE,
        ),
    ] = field(default_factory=list)

    @classmethod
    def listing(cls, variables: Iterable[ClusterClassVariable]) -> Self:
        """Return a response with these variables."""
        return cls(variables=[encode(variable) for variable in variables])


DISCOVER_VARIABLES: Final = Hook(
    "DiscoverVariables",
    DiscoverVariablesRequest,
    DiscoverVariablesResponse,
    tags=MUTATION,
    summary="Cluster API asks which variables an external patch defines",
    description=(
        "It is called when a ClusterClass that names the handler is reconciled. The response "
        "contains all variables of the patch with their schemas. Clusters can set these "
        "variables."
    ),
)
