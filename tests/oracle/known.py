"""Recorded cases that ours is known to answer differently, each with the reason.

A ratchet: a case that fails and is not here fails the tests, and so does one that is here and
passes. `docs/reference/api-server.md` explains the reasons to users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_GO_WORDS: Final = "the text is that of a Go decoder or of a Go value printed; meaning is equal"
_OWN_WORDS: Final = "OpenAPI v3 says what parameters do in sentences of our own"

APISERVER: Final[Mapping[str, str]] = {
    "core-050": "a match condition that does not parse: a syntax error in words of our own",
    "crud-086": "a real server answers even the 406 in protobuf when that was asked for",
    "discovery-048": _OWN_WORDS,
    "discovery-049": _OWN_WORDS,
    "discovery-050": _OWN_WORDS,
    "discovery-051": _OWN_WORDS,
    "schema-131": "a real server drops managedFields when the stored object fits its kind no more",
    "subresources-017": _GO_WORDS,
    "webhooks-042": "an object that a write converted is converted back once, not twice",
}

_PINNED: Final = "recorded with CEL's functions of Kubernetes 1.30; upstream's managers have all"

VARIABLES: Final[Mapping[str, str]] = {
    "validate_class_variables[4]": _PINNED,
    "validate_class_variables[6]": _PINNED,
    "validate_class_variables[8]": _PINNED,
}
