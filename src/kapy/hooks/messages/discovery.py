"""Discovery: which handlers an extension has."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.message import Message, Response
from kapy.kube.model import Model, rules

DEFAULT_TIMEOUT_SECONDS: Final = 10
MAX_TIMEOUT_SECONDS: Final = 30
MOST_HANDLERS: Final = 512
"""As many as the status of an ExtensionConfig may list."""
FAIL: Final = "Fail"
IGNORE: Final = "Ignore"


class GroupVersionHook(Model):
    """Names a hook in a version."""

    api_version: Annotated[str, rules("The group and version of the hook.", zero="written")]
    hook: Annotated[str, rules("The name of the hook.", zero="written")]


class ExtensionHandler(Model):
    """One handler that an extension has."""

    name: Annotated[str, rules("The handler's name, a DNS label.", zero="written")]
    request_hook: Annotated[GroupVersionHook, rules("The hook that it answers.")]
    timeout_seconds: Annotated[
        int | None,
        rules("How long an answer may take, 30 at most; 10 unless said.", format="int32"),
    ] = None
    failure_policy: Annotated[
        str | None,
        rules("Whether a call that fails holds things: Fail or Ignore; Fail unless said."),
    ] = None


class DiscoveryRequest(Message):
    """Asks Discovery."""


class DiscoveryResponse(Response):
    """Answers Discovery."""

    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            "All handlers of the extension.",
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


DISCOVERY: Final = Hook(
    "Discovery",
    DiscoveryRequest,
    DiscoveryResponse,
    singleton=True,
    tags=("Discovery",),
    summary="Asked which handlers an extension has",
    description=(
        "Called when an ExtensionConfig is created or changed, and when controllers start. Every "
        "extension must answer it. Extensions that are written with kapy.hooks need no handler "
        "for it: the answer is made of their handlers."
    ),
)
