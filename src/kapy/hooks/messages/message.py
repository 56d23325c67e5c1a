"""What all requests and all responses have, as Go writes them (`common_types.go`)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self, TypeVar, get_origin

from msgspec import field
from msgspec.structs import fields

from kapy.kube import Document
from kapy.kube.model import Model, bare, model_in, rules

SUCCESS: Final = "Success"
FAILURE: Final = "Failure"
LONGEST_WAIT: Final = 2**31 - 1
UNTIMED_SECONDS: Final = 30
"""After a wait that says no time there can be, the next question."""


def _success() -> str:
    return SUCCESS


def _zero() -> int:
    return 0


# msgspec leaves out what is at its default, but for defaults that are made: those are written.
WRITTEN_SUCCESS: Final[Any] = field(default_factory=_success)
WRITTEN_ZERO: Final[Any] = field(default_factory=_zero)


class Message(Model):
    """A request or a response. Hooks say its kind and version when it travels."""

    kind: Annotated[str, rules("The kind of the message, as in DiscoveryRequest.")] = ""
    api_version: Annotated[str, rules("The group and version of the hook.")] = ""


M = TypeVar("M", bound=Message)


class Request(Message):
    """What every request has."""

    settings: Annotated[
        dict[str, str],
        rules("The settings of the ExtensionConfig, and over them those of the call."),
    ] = field(default_factory=dict)


class Response(Message):
    """What every response has."""

    status: Annotated[
        str,
        rules(
            "Whether the call went well.", required=True, enum=[FAILURE, SUCCESS], zero="written"
        ),
    ] = WRITTEN_SUCCESS
    message: Annotated[str, rules("What people are told about the outcome.")] = ""

    @classmethod
    def refuse(cls, message: str) -> Self:
        """Fail: nothing goes on, the call is repeated with growing pauses, and people read why."""
        return cls(status=FAILURE, message=message)


class RetryResponse(Response):
    """What a response of a hook has that may hold something."""

    retry_after_seconds: Annotated[
        int,
        rules(
            "If it is not 0, nothing goes on, and the hook is called again after so many seconds.",
            required=True,
            format="int32",
            zero="written",
        ),
    ] = WRITTEN_ZERO

    @property
    def waits(self) -> int:
        """Seconds until the next question, 0 where things go on. Less than 0 holds them, too, as
        upstream has it."""
        seconds = self.retry_after_seconds
        return seconds if seconds >= 0 else UNTIMED_SECONDS

    @classmethod
    def wait(cls, seconds: int, message: str) -> Self:
        """Hold, and be asked again later; people read the message meanwhile."""
        return cls(retry_after_seconds=seconds, message=message)


def without_nulls(node: Any, kind: type[Model]) -> Any:
    """A document without fields that are null, in the parts that have a type of ours; values of
    any form and other objects stay as they are. Fields that may be null keep it."""
    if not isinstance(node, dict):
        return node
    kept: Document = dict(node)
    for one in fields(kind):
        name, inner = one.encode_name, model_in(one.type)
        value = kept.get(name)
        if value is None:
            kept.pop(name, None)
        elif inner is not None:
            kept[name] = _parts(value, one.type, inner)
    return kept


def _parts(value: Any, hint: Any, inner: type[Model]) -> Any:
    if isinstance(value, list) and get_origin(bare(hint)) is list:
        return [without_nulls(one, inner) for one in value]
    if isinstance(value, dict) and get_origin(bare(hint)) is dict:
        return {key: without_nulls(one, inner) for key, one in value.items()}
    return without_nulls(value, inner)
