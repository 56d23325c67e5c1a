"""ValidateTopology: validates a Cluster's templates after they are patched."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.message import Response
from kapy.hooks.messages.templates import MUTATION, TemplateItem, TemplatesRequest
from kapy.kube.model import rules


class ValidateTopologyRequestItem(TemplateItem, kw_only=True):
    """ValidateTopologyRequestItem is a template that the extension validates."""


class ValidateTopologyRequest(TemplatesRequest, kw_only=True):
    """ValidateTopologyRequest is the request of the ValidateTopology hook."""

    items: Annotated[
        list[ValidateTopologyRequestItem | None] | None,
        rules("items are the templates after all patches.", required=True),
    ] = field(default_factory=list[ValidateTopologyRequestItem | None])

    @property
    def templates(self) -> list[ValidateTopologyRequestItem]:
        """The templates; Go may write null for none of them, or for one."""
        return [request_item for request_item in self.items or () if request_item is not None]


class ValidateTopologyResponse(Response):
    """ValidateTopologyResponse is the response of the ValidateTopology hook. The status
    Failure rejects the topology.
    """


VALIDATE_TOPOLOGY: Final = Hook(
    "ValidateTopology",
    ValidateTopologyRequest,
    ValidateTopologyResponse,
    tags=MUTATION,
    summary="Cluster API asks whether the patched templates of a Cluster are valid",
    description=(
        "It is called whenever the desired state of a Cluster has been computed from its "
        "ClusterClass and all patches have been applied. A response with the status Failure "
        "rejects the change. The user sees its message."
    ),
)
