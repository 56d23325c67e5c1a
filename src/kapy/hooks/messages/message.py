"""The common fields of all requests and responses, as Go writes them (`common_types.go`)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self, TypeVar, get_origin

from msgspec import field
from msgspec.structs import fields

from kapy.kube import Document
from kapy.kube.model import Model, bare_type, model_in, rules

SUCCESS: Final = "Success"
FAILURE: Final = "Failure"
LONGEST_WAIT: Final = 2**31 - 1
UNTIMED_SECONDS: Final = 30
"""After a wait that says no time there can be, the next question."""


def _success() -> str:
    return SUCCESS


def _zero() -> int:
    return 0


# msgspec omits fields with their default, except those with a default factory.
WRITTEN_SUCCESS: Final[Any] = field(default_factory=_success)
WRITTEN_ZERO: Final[Any] = field(default_factory=_zero)


class Message(Model):
    """Message is a request or a response of a hook. The hook adds kind and apiVersion when it
    is sent.
    """

    kind: Annotated[
        str, rules("kind is the kind of the message, for example DiscoveryRequest.")
    ] = ""
    api_version: Annotated[str, rules("apiVersion is the group and version of the hook.")] = ""


M = TypeVar("M", bound=Message)


class Request(Message):
    """Request is the base of all requests."""

    settings: Annotated[
        dict[str, str],
        rules(
            "settings are key-value pairs for the extension. They consist of the settings of "
            "the ExtensionConfig and those of the call, for example of a patch. Those of the "
            "call take precedence."
        ),
    ] = field(default_factory=dict)


class Response(Message):
    """Response is the base of all responses."""

    status: Annotated[
        str,
        rules(
            "status tells whether the call succeeded. Allowed values are Success and Failure.",
            required=True,
            enum=[FAILURE, SUCCESS],
            zero="written",
        ),
    ] = WRITTEN_SUCCESS
    message: Annotated[
        str, rules("message explains the result to humans. Cluster API shows it in conditions.")
    ] = ""

    @classmethod
    def refuse(cls, message: str) -> Self:
        """Return a failure: the operation is blocked, the call is repeated with back-off, and the
        message is shown.
        """
        return cls(status=FAILURE, message=message)


class RetryResponse(Response):
    """RetryResponse is the base of responses that can block the operation."""

    retry_after_seconds: Annotated[
        int,
        rules(
            "retryAfterSeconds is the time in seconds after which the hook is called again. "
            "The operation is blocked until then. With 0 the operation continues.",
            required=True,
            format="int32",
            zero="written",
        ),
    ] = WRITTEN_ZERO

    @property
    def waits(self) -> int:
        """Seconds until the next call, 0 if the operation continues. As in upstream, negative
        values block it, too.
        """
        seconds = self.retry_after_seconds
        return seconds if seconds >= 0 else UNTIMED_SECONDS

    @classmethod
    def wait(cls, seconds: int, message: str) -> Self:
        """Return a response that blocks the operation until the next call; the message is shown
        meanwhile.
        """
        return cls(retry_after_seconds=seconds, message=message)


def without_nulls(node: Any, kind: type[Model]) -> Any:
    """Remove null fields from the parts of a document that have a kapy type; free-form values and
    other objects are kept. Nullable fields keep null.
    """
    if not isinstance(node, dict):
        return node
    result: Document = dict(node)
    for item in fields(kind):
        name, inner = item.encode_name, model_in(item.type)
        value = result.get(name)
        if value is None:
            result.pop(name, None)
        elif inner is not None:
            result[name] = _parts(value, item.type, inner)
    return result


def _parts(value: Any, hint: Any, inner: type[Model]) -> Any:
    if isinstance(value, list) and get_origin(bare_type(hint)) is list:
        return [without_nulls(item, inner) for item in value]
    if isinstance(value, dict) and get_origin(bare_type(hint)) is dict:
        return {key: without_nulls(item, inner) for key, item in value.items()}
    return without_nulls(value, inner)
