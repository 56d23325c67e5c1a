"""Discovery: asks for the handlers of an extension."""

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
    """GroupVersionHook identifies a hook and its version."""

    api_version: Annotated[
        str,
        rules(
            "apiVersion is the group and version of the hook, for example "
            "hooks.runtime.cluster.x-k8s.io/v1alpha1.",
            zero="written",
        ),
    ]
    hook: Annotated[
        str, rules("hook is the name of the hook, for example BeforeClusterCreate.", zero="written")
    ]


class ExtensionHandler(Model):
    """ExtensionHandler describes one handler of an extension."""

    name: Annotated[
        str,
        rules(
            "name is the name of the handler. It must be a DNS label and unique in the extension.",
            zero="written",
        ),
    ]
    request_hook: Annotated[
        GroupVersionHook, rules("requestHook identifies the hook that the handler serves.")
    ]
    timeout_seconds: Annotated[
        int | None,
        rules(
            "timeoutSeconds is the time in seconds within which the handler must answer. "
            "Allowed values are 1 to 30. Defaults to 10.",
            format="int32",
        ),
    ] = None
    failure_policy: Annotated[
        str | None,
        rules(
            "failurePolicy tells what happens if a call of the handler fails. Allowed values "
            "are Ignore and Fail. With Ignore the operation continues. With Fail it is "
            "stopped and tried again. Defaults to Fail."
        ),
    ] = None


class DiscoveryRequest(Message):
    """DiscoveryRequest is the request of the Discovery hook."""


class DiscoveryResponse(Response):
    """DiscoveryResponse is the response of the Discovery hook."""

    handlers: Annotated[
        list[ExtensionHandler],
        rules(
            "handlers are all handlers of the extension.",
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
    summary="Cluster API asks which handlers an extension has",
    description=(
        "It is called when an ExtensionConfig is created or changed, and when controllers "
        "start. Every extension must serve it. An extension that is written with kapy.hooks "
        "needs no handler for it, because kapy.hooks generates the response from the other "
        "handlers."
    ),
)
