"""One hostile but legal story: requests that a user of one namespace may send."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

NAMESPACE = "hostile"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
THINGS = f"/apis/hostile.dev/v1/namespaces/{NAMESPACE}/things"
JSON, YAML = "application/json", "application/yaml"


@dataclass(frozen=True)
class Call:
    """One request. setup: it only prepares the ones after it, and must succeed."""

    method: str
    path: str
    body: bytes = b""
    media: str = JSON
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    setup: bool = False


Make = Callable[[int], Iterator[Call]]


@dataclass(frozen=True)
class Case:
    """calls: the requests, whose bodies have about as many bytes as it is given."""

    name: str
    calls: Make


CASES: list[Case] = []


def case(make: Make) -> Make:
    """Add a generator of requests to the corpus."""
    CASES.append(Case(make.__name__.replace("_", "-"), make))
    return make


def joined(size: int, item: Callable[[int], str], separator: str = ",") -> str:
    """Items until they have `size` bytes together."""
    parts: list[str] = []
    length = 0
    for number in count():
        text = item(number)
        length += len(text) + len(separator)
        if length > size:
            return separator.join(parts)
        parts.append(text)
    raise AssertionError


def texts(size: int, form: str) -> str:
    """Different JSON strings; form: has `{}` for their number."""
    return joined(size, lambda at: f'"{form.format(at)}"')


def members(size: int, form: str, value: str = "1") -> str:
    """Members of a JSON object."""
    return joined(size, lambda at: f'"{form.format(at)}":{value}')


def listed(field: str, items: str) -> str:
    """A member that is a list."""
    return f'"{field}":[{items}]'


def mapped(field: str, inner: str) -> str:
    """A member that is an object."""
    return f'"{field}":{{{inner}}}'


def create(path: str, body: str, media: str = JSON, **query: str) -> Call:
    return Call("POST", path, body.encode(), media, query)


def prepare(path: str, body: str) -> Call:
    """Create an object that later requests change."""
    return Call("POST", path, body.encode(), setup=True)


def replace(path: str, body: str, **query: str) -> Call:
    return Call("PUT", path, body.encode(), query=query)


def json_patch(path: str, operations: str) -> Call:
    return Call("PATCH", path, f"[{operations}]".encode(), JSON_PATCH)


def merge_patch(path: str, body: str) -> Call:
    return Call("PATCH", path, body.encode(), MERGE_PATCH)


def strategic(path: str, body: str) -> Call:
    return Call("PATCH", path, body.encode(), STRATEGIC_MERGE_PATCH)


def apply(path: str, body: str, manager: str = "hostile", *, force: bool = True) -> Call:
    query = {"fieldManager": manager, **({"force": "true"} if force else {})}
    return Call("PATCH", path, body.encode(), APPLY_PATCH, query)


def delete(path: str, body: str = "") -> Call:
    return Call("DELETE", path, body.encode())


def thing(name: str, spec: str, meta: str = "") -> str:
    """A custom object. spec, meta: the text of members."""
    more = f",{meta}" if meta else ""
    return (
        '{"apiVersion":"hostile.dev/v1","kind":"Thing",'
        f'"metadata":{{"name":"{name}"{more}}},"spec":{{{spec}}}}}'
    )


def config_map(name: str, meta: str = "", rest: str = '"data":{}') -> str:
    more = f",{meta}" if meta else ""
    return f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"{more}}},{rest}}}'


def pod(name: str, spec: str, meta: str = "") -> str:
    more = f",{meta}" if meta else ""
    return (
        f'{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"{more}}},"spec":{{{spec}}}}}'
    )
