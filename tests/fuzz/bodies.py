"""Bodies as a server reads them: what harnesses of documents begin with."""

from __future__ import annotations

import json
from typing import Any

from kapy.apiserver.request import body


def jsonified(value: Any) -> bytes:
    return json.dumps(value).encode()


class NoInput(ValueError):
    """The bytes are no input of this harness."""


def document_of(data: bytes) -> Any:
    """JSON as a server has it. Raises NoInput."""
    try:
        return body.decode_json(data)
    except body.InvalidJson as error:
        raise NoInput(str(error)) from None
