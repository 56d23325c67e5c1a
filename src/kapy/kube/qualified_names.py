"""Validation of label keys, label values and names with kube-apiserver's messages.

Each function returns the errors of a value, with the messages of `k8s.io/apimachinery`
util/validation; an empty list means that the value is valid. A name that is no valid label value
is hashed.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from typing import Final

from kapy.kube.text_cache import text_cache

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_NAME_SENTENCE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_SENTENCE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LABEL_SENTENCE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_1035_SENTENCE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_SENTENCE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _too_many_bytes(limit: int) -> str:
    return f"must be no more than {limit} bytes"


@text_cache(4096)
def dns_label_errors(value: str) -> list[str]:
    """Validate an RFC 1123 label, such as the name of a namespace or a Service."""
    errors = [_too_long(63)] if len(value) > 63 else []
    if _LABEL.fullmatch(value):
        return errors
    dots = _SUBDOMAIN.fullmatch(value)
    return [*errors, "must not contain dots" if dots else _LABEL_SENTENCE]


def dns_1035_label_errors(value: str) -> list[str]:
    """Validate an RFC 1035 label, the older rule for names of Services."""
    errors = [_too_long(63)] if len(value) > 63 else []
    return errors if _LABEL_1035.fullmatch(value) else [*errors, _LABEL_1035_SENTENCE]


@text_cache(4096)
def dns_subdomain_errors(value: str) -> list[str]:
    """Validate an RFC 1123 subdomain, such as the names of most objects."""
    errors = [_too_long(253)] if len(value) > 253 else []
    return errors if _SUBDOMAIN.fullmatch(value) else [*errors, _SUBDOMAIN_SENTENCE]


@text_cache(4096)
def qualified_name_errors(value: str) -> list[str]:
    """Validate a key of labels or annotations: an optional DNS prefix, a slash, a name."""
    prefix, slash, name = value.partition("/")
    errors = []
    if slash and "/" in name:
        return [
            f"a valid label key {_NAME_SENTENCE} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    if not slash:
        name = prefix
    elif not prefix:
        errors.append("prefix part must be non-empty")
    else:
        wrong = [_too_many_bytes(253)] if len(prefix) > 253 else []
        wrong += [] if _SUBDOMAIN.fullmatch(prefix) else [_SUBDOMAIN_SENTENCE]
        errors += [f"prefix part {item}" for item in wrong]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append("name part " + _too_many_bytes(63))
    return errors if _NAME.fullmatch(name) else [*errors, f"name part {_NAME_SENTENCE}"]


@text_cache(4096)
def label_value_errors(value: str) -> list[str]:
    """Validate the value of a label."""
    errors = [_too_many_bytes(63)] if len(value.encode()) > 63 else []
    return errors if _VALUE.fullmatch(value) else [*errors, _VALUE_SENTENCE]


def label_value(name: str) -> str:
    """Return the name, or `hash_…_z` (FNV-1a, upstream's form) if it is not a valid label value."""
    if not label_value_errors(name):
        return name
    number = _FNV_OFFSET
    for byte in name.encode():
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    text = urlsafe_b64encode(number.to_bytes(4, "big")).decode().rstrip("=")
    return f"hash_{text}_z"
