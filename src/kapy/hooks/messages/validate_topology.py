"""ValidateTopology: a check of a Cluster's templates when they are patched."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.message import Response
from kapy.hooks.messages.templates import MUTATION, TemplateItem, TemplatesRequest
from kapy.kube.model import rules


class ValidateTopologyRequestItem(TemplateItem, kw_only=True):
    """A template to look at."""


class ValidateTopologyRequest(TemplatesRequest, kw_only=True):
    """Asks ValidateTopology."""

    items: Annotated[
        list[ValidateTopologyRequestItem | None] | None,
        rules("The templates, after all patches.", required=True),
    ] = field(default_factory=list[ValidateTopologyRequestItem | None])

    @property
    def templates(self) -> list[ValidateTopologyRequestItem]:
        """The templates; Go may write null for none of them, or for one."""
        return [one for one in self.items or () if one is not None]


class ValidateTopologyResponse(Response):
    """Answers ValidateTopology."""


VALIDATE_TOPOLOGY: Final = Hook(
    "ValidateTopology",
    ValidateTopologyRequest,
    ValidateTopologyResponse,
    tags=MUTATION,
    summary="Asked whether a Cluster's patched templates are right",
    description=(
        "Called each time that a Cluster's desired state is computed from its ClusterClass, when "
        "all patches are applied. An answer with status Failure stops the change; its message is "
        "shown to the user."
    ),
)
