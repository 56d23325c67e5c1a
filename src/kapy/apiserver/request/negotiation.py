"""Content negotiation: the media type of a response, chosen as kube-apiserver does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from kapy.kube.errors import NotAcceptable
from kapy.kube.text_cache import text_cache

Form = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]


class MediaType(NamedTuple):
    """The form of a response: the object itself, or a form of meta.k8s.io (such as Table).

    version: the version of meta.k8s.io. yaml: whether the response is YAML and not JSON.
    """

    form: Form = ""
    version: str = "v1"
    yaml: bool = False


PLAIN: Final = MediaType()
AVAILABLE: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMED: Final = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_FORMS: Final = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


class _Clause(NamedTuple):
    """One media type of an Accept header."""

    main: str
    sub: str
    quality: float
    parameters: Mapping[str, str]

    def precedes(self, other: _Clause) -> bool:
        """Report whether Go's sort puts this clause before another one."""
        return (
            self.quality > other.quality
            or (self.main != "*" and other.main == "*")
            or (self.sub != "*" and other.sub == "*")
        )


def negotiate(headers: Mapping[str, str]) -> MediaType:
    """Return the form of the response to a request. Raises NotAcceptable."""
    header = headers.get("accept")
    if not header or header == "application/json":
        return PLAIN
    media_type = _choose(header)
    if media_type is None:
        raise _not_acceptable(AVAILABLE)
    return media_type


def negotiate_stream(headers: Mapping[str, str]) -> MediaType:
    """Return the form of watch events, which cannot be YAML. Raises NotAcceptable."""
    media_type = negotiate(headers)
    if media_type.yaml:
        raise _not_acceptable(_STREAMED)
    return media_type


def check_representation(header: str, kind: str) -> None:
    """Check that the client accepts the single media type of a page. Raises NotAcceptable.

    kube-apiserver's router does the same for such paths.
    """
    named = {clause.partition(";")[0].strip() for clause in header.split(",")}
    if header and not named & {kind, "*/*"}:
        message = f"406: Not Acceptable\n\nAvailable representations: {kind}"
        raise NotAcceptable(message, details={})


def wants_yaml(header: str, *, failed: bool) -> bool:
    """Report whether a response is YAML. failed: whether it is a Status, which has no other
    form.
    """
    media_type = _choose(header)
    if failed and media_type is not None and media_type.form:
        media_type = next((clause for clause in _all_clauses(header) if not clause.form), None)
    return media_type is not None and media_type.yaml


def _not_acceptable(available: str) -> NotAcceptable:
    return NotAcceptable(f"only the following media types are accepted: {available}")


@text_cache(256)
def _choose(header: str) -> MediaType | None:
    """Return the first supported media type by the client's preferences."""
    return next(iter(_all_clauses(header)), None)


def _all_clauses(header: str) -> list[MediaType]:
    types = (_media_type(clause) for clause in _sort_clauses(_clauses(header)))
    return [media_type for media_type in types if media_type is not None]


def _media_type(clause: _Clause) -> MediaType | None:
    """Return the form of a media type, None if the server does not support it."""
    if clause.main not in ("application", "*") or clause.sub not in ("json", "yaml", "*"):
        return None
    if clause.main == "*" and clause.sub != "*":
        return None
    yaml, values = clause.sub == "yaml", clause.parameters
    if (stream := values.get("stream")) and (yaml or stream != "watch"):
        return None
    if values.get("sv", "v1") not in ("", "v1"):
        return None
    if not values.keys() & {"as", "g", "v"}:
        return MediaType(yaml=yaml)
    form, version = values.get("as", ""), values.get("v", "")
    if values.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1") or form not in _FORMS:
        return None
    return MediaType(form, version, yaml)  # type: ignore[arg-type]


def _clauses(header: str) -> list[_Clause]:
    clauses: list[_Clause] = []
    for part in header.split(","):
        name, *parameters = part.strip(" ").split(";")
        main, *subs = (element.strip(" ") for element in name.split("/"))
        if not subs and main == "*":
            subs = ["*"]
        if len(subs) != 1 or not subs[0]:
            continue
        quality, values = 1.0, {}
        for item in parameters:
            key, *value = item.split("=")
            if len(value) != 1 or not value[0]:
                continue
            if key.strip(" ") == "q":
                quality = _number(value[0])
            else:
                values[key.strip(" ")] = value[0].strip(" ")
        clauses.append(_Clause(main, subs[0], quality, values))
    return clauses


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _sort_clauses(clauses: list[_Clause]) -> list[_Clause]:
    """Sort like Go's insertion sort; `precedes` is not a consistent order for other sorts."""
    if len(clauses) > _MANY:
        return clauses
    for end in range(1, len(clauses)):
        at = end
        while at > 0 and clauses[at].precedes(clauses[at - 1]):
            clauses[at - 1], clauses[at] = clauses[at], clauses[at - 1]
            at -= 1
    return clauses


_MANY: Final = 12
"""The length up to which Go uses insertion sort; longer headers do not occur."""
