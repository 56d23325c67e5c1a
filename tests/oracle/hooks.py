"""Topic `hooks`: messages of the Runtime SDK, and what is computed from them.

`catalog.json` and `openapi.yaml`, which are one case each, are compared in
`tests/hooks/test_openapi.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kapy.api.extension_config import ClientConfig
from kapy.hooks.call import handler_url
from kapy.hooks.caller import aggregate_responses
from kapy.hooks.catalog import own_catalog
from kapy.hooks.discovery import validate_handlers, with_defaults
from kapy.hooks.errors import BadAddress, BadDiscovery
from kapy.hooks.hook import GROUP, AnyHook
from kapy.hooks.messages.discovery import ExtensionHandler
from kapy.hooks.registry import extension_of, registered_name
from kapy.kube.model import encode
from tests.oracle.topic import Check, Record, compared

CATALOG = own_catalog()


def hook(name: str) -> AnyHook:
    result = CATALOG.get(f"{GROUP}/v1alpha1", name)
    assert result is not None, name
    return result


def check_sample(record: Record) -> Iterator[str]:
    """A document is unchanged after it is decoded and encoded again."""
    value = hook(record["hook"])
    body = msgspec.json.encode(record["object"])
    if record["dir"] == "request":
        again = value.encode_request(value.decode_request(body))
    else:
        again = value.encode_response(value.decode_response(body))
    yield from compared(record["object"], msgspec.json.decode(again))


def check_aggregate(record: Record) -> Iterator[str]:
    value = hook(record["hook"])
    responses = [msgspec.convert(response, value.response) for response in record["responses"]]
    document = {"message": "", **encode(aggregate_responses(value, responses))}
    yield from compared(record["out"], document)


def check_discovery(record: Record) -> Iterator[str]:
    handlers = msgspec.convert(record["handlers"] or [], list[ExtensionHandler])
    documents = [encode(with_defaults(handler)) for handler in handlers]
    yield from compared(record["out"] or [], documents, "out")
    yield from compared(
        record["error"], error_of(lambda: validate_handlers(handlers, CATALOG)), "error"
    )


def error_of(act: Callable[[], object]) -> str | None:
    try:
        act()
    except (BadDiscovery, BadAddress) as error:
        return str(error)
    return None


def check_url(record: Record) -> Iterator[str]:
    config = msgspec.convert(record["clientConfig"], ClientConfig)
    try:
        url = handler_url(config, hook(record["hook"]), record["name"])
    except BadAddress as error:
        recorded = record.get("error", "")
        if "failed to parse url" not in recorded:
            yield from compared(recorded, str(error), "error")
        return
    yield from compared(record.get("out"), url, "out")


def check_name(record: Record) -> Iterator[str]:
    if record["fn"] == "NameForHandler":
        yield from compared(record["out"], registered_name(record["in"], record["extension"]))
        return
    assert record["fn"] == "ExtensionNameFromHandlerName", record["fn"]
    yield from compared(record["error"], error_of(lambda: extension_of(record["in"])), "error")
    if record["error"] is None:
        yield from compared(record["out"], extension_of(record["in"]))


FILES: dict[str, Check] = {
    "samples": check_sample,
    "aggregate": check_aggregate,
    "discovery_response": check_discovery,
    "url": check_url,
    "names": check_name,
}
