"""Validation of ExtensionConfigs."""

from __future__ import annotations

import re
from typing import Final

from kapy.api.extension_config import ClientConfig, ExtensionConfig, ServiceReference
from kapy.api.features import FeatureGates
from kapy.api.names import Annotation
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.metadata import selector_errors
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.qualified_names import dns_1035_label_errors, dns_label_errors
from kapy.kube.urls import request_uri

_CLIENT: Final = "spec.clientConfig"
_SERVICE: Final = f"{_CLIENT}.service"
_SELECTOR: Final = "spec.namespaceSelector"


def extension_config_errors(
    config: ExtensionConfig, _: ExtensionConfig | None, gates: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of an ExtensionConfig."""
    if not gates.runtime_sdk:
        return [closed_gate_error("RuntimeSDK")]
    spec = config.spec
    errors = _name_errors(config.metadata.name) + _client_errors(spec.client_config)
    text = config.metadata.annotations.get(Annotation.LONGEST_TIMEOUT)
    if text is not None and longest_timeout(config) is None:
        where = f"metadata.annotations[{Annotation.LONGEST_TIMEOUT}]"
        errors.append(invalid(where, text, "must be a number of seconds from 1 to 30"))
    if spec.namespace_selector is None:
        errors.append(required(_SELECTOR, "must be defined"))
    return errors + selector_errors(spec.namespace_selector, _SELECTOR)


def longest_timeout(config: ExtensionConfig) -> int | None:
    """Return the upper limit in seconds for the timeouts of an extension's handlers, from an
    annotation. None if it is not set to a number from 1 to 30."""
    text = config.metadata.annotations.get(Annotation.LONGEST_TIMEOUT, "")
    return int(text) if re.fullmatch(r"[1-9]|[12]\d|30", text, re.ASCII) else None


def _name_errors(name: str) -> list[FieldError]:
    problems = " ".join(dns_label_errors(name))
    if not problems:
        return []
    detail = f"ExtensionConfig name should be a valid DNS1123 label name: [{problems}]"
    return [invalid("metadata.name", name, detail)]


def _client_errors(client: ClientConfig) -> list[FieldError]:
    url, service = client.url, client.service
    errors = []
    if not url and service is None:
        errors.append(required(_CLIENT, "either url or service must be defined"))
    if url and service is not None:
        errors.append(forbidden(_CLIENT, "only one of url or service can be defined"))
    if url:
        errors += _url_errors(url)
    return errors if service is None else errors + _service_errors(service)


def _url_errors(url: str) -> list[FieldError]:
    where = f"{_CLIENT}.url"
    try:
        scheme = request_uri(url).scheme
    except ValueError as error:
        problem = f"must be a valid URL, e.g. https://example.com: {error}"
        return [invalid(where, url, problem)]
    if scheme == "https":
        return []
    problem = "'https' is the only allowed URL scheme, e.g. https://example.com"
    return [invalid(where, url, problem)]


def _service_errors(service: ServiceReference) -> list[FieldError]:
    errors = []
    for name, value, wrong in (
        ("name", service.name, dns_1035_label_errors),
        ("namespace", service.namespace, dns_label_errors),
    ):
        where = f"{_SERVICE}.{name}"
        if not value:
            errors.append(required(where, "must not be empty"))
        errors += [invalid(where, value, problem) for problem in wrong(value)]
    if service.path:
        errors += _path_errors(service.path)
    if service.port is not None and not 1 <= service.port <= 65535:
        problem = "must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{_SERVICE}.port", service.port, problem))
    return errors


def _path_errors(path: str) -> list[FieldError]:
    where = f"{_SERVICE}.path"
    errors = []
    try:
        request_uri(path)
    except ValueError as error:
        problem = f"must be a valid URL path e.g. /path/to/hook: {error}"
        errors.append(invalid(where, path, problem))
    if not path.startswith("/"):
        errors.append(invalid(where, path, 'must start with "/" to be a valid URL path'))
    return errors
