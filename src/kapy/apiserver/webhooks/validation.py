"""What is wrong with a webhook configuration, or with the conversion of a definition.

What this server does not speak (review versions other than v1, CEL that it does not have) is
refused here rather than ignored later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from kapy.apiserver.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import (
    dns_subdomain_errors,
    qualified_name_errors,
)

_VERSIONS: Final = ("v1", "v1beta1")
_FORM: Final = "; desired format: https://host[/path]"
_CONDITIONS_LIMIT: Final = 64
_SIDE_EFFECTS: Final = ["None", "NoneOnDryRun"]
_CHOICES: Final = {
    "failurePolicy": ["Fail", "Ignore"],
    "matchPolicy": ["Equivalent", "Exact"],
    "reinvocationPolicy": ["IfNeeded", "Never"],
}
_OPERATIONS: Final = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
_SCOPES: Final = ["*", "Cluster", "Namespaced"]


def configuration_errors(document: Document, old: Document | None) -> list[FieldError]:
    """The errors of a configuration; expressions that were there before are let be."""
    found: list[FieldError] = []
    before = {
        condition.get("expression")
        for hook in (old or {}).get("webhooks") or ()
        for condition in hook.get("matchConditions") or ()
    }
    names: set[str] = set()
    for index, hook in enumerate(document.get("webhooks") or ()):
        path = f"webhooks[{index}]"
        found += _hook_errors(hook, path)
        found += _condition_errors(hook, f"{path}.matchConditions", before)
        versions = hook.get("admissionReviewVersions") or []
        found += _version_errors(versions, f"{path}.admissionReviewVersions")
        name = hook.get("name") or ""
        if name and name in names:
            found.append(duplicate(f"{path}.name", name))
        names.add(name)
    return found


def conversion_errors(conversion: Document) -> list[FieldError]:
    """The errors of `spec.conversion` of a definition."""
    path, strategy = "spec.conversion", conversion.get("strategy") or ""
    hook = conversion.get("webhook") or {}
    if not strategy:
        return [required(f"{path}.strategy")]
    if strategy not in ("None", "Webhook"):
        return [not_supported(f"{path}.strategy", strategy, ["None", "Webhook"])]
    where = f"{path}.webhookClientConfig"
    if strategy == "None":
        why = "should not be set when strategy is not set to Webhook"
        return [forbidden(where, why)] if hook else []
    client, versions = hook.get("clientConfig"), hook.get("conversionReviewVersions") or []
    listed = f"{path}.conversionReviewVersions"
    found = [*_version_errors(versions, listed)] if versions else [required(listed)]
    if client is None:
        return [*found, required(where, "required when strategy is set to Webhook")]
    return [*found, *client_errors(client, where)]


def _hook_errors(hook: Document, path: str) -> Iterator[FieldError]:
    yield from _name_errors(hook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        yield from _rule_errors(rule, f"{path}.rules[{index}]")
    for field, known in _CHOICES.items():
        value = hook.get(field)
        if value is not None and value not in known:
            yield not_supported(f"{path}.{field}", value, known)
    effects = hook.get("sideEffects")
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        yield not_supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{path}.timeoutSeconds", seconds, why)
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector_errors(hook.get(field) or {}, f"{path}.{field}")
    yield from client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    elif wrong := dns_subdomain_errors(name):
        yield invalid(path, name, ",".join(wrong))
    elif name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        yield invalid(path, name, why)


def _rule_errors(rule: Document, path: str) -> Iterator[FieldError]:
    lists = (
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    )
    for field, shown in lists:
        values = rule.get(field) or []
        if not values:
            yield required(f"{path}.{field}")
        if len(values) > 1 and "*" in values:
            why = f"if '*' is present, must not specify other {shown}"
            yield invalid(f"{path}.{field}", values, why)
        for index, value in enumerate(values):
            if field == "operations" and value not in _OPERATIONS:
                yield not_supported(f"{path}.{field}[{index}]", value, _OPERATIONS)
            if field == "apiVersions" and not value:
                yield required(f"{path}.{field}[{index}]")
    yield from _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _resource_errors(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    every_part: set[str] = set()
    of_every: set[str] = set()
    for index, resource in enumerate(resources):
        if not resource:
            yield required(f"{path}[{index}]")
        main, slash, part = resource.partition("/")
        if not slash:
            continue
        if main in every_part:
            why = f"if '{main}/*' is present, must not specify {resource}"
            yield invalid(f"{path}[{index}]", resource, why)
        if part in of_every:
            why = f"if '*/{part}' is present, must not specify {resource}"
            yield invalid(f"{path}[{index}]", resource, why)
        if part == "*":
            every_part.add(main)
        if main == "*":
            of_every.add(part)
    yield from _wildcard_errors(resources, path)


def _wildcard_errors(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    if len(resources) > 1 and "*/*" in resources:
        why = "if '*/*' is present, must not specify other resources"
        yield invalid(path, list(resources), why)
    if "*" in resources and any("/" not in one and one != "*" for one in resources):
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, list(resources), why)


def client_errors(client: Document, path: str) -> Iterator[FieldError]:
    """The errors of a `clientConfig`."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif service is not None:
        yield from _service_errors(service, f"{path}.service")
    else:
        yield from _url_errors(str(url), f"{path}.url")


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, _, host = parts.netloc.rpartition("@")
    if not host:
        yield invalid(path, host, f"host must be specified{_FORM}")
    for value, what in (
        (user, "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ):
        if value:
            yield invalid(path, value, f"{what} not permitted in the URL")


def _service_errors(service: Document, path: str) -> Iterator[FieldError]:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(f"{path}.{field}", f"service {field} is required")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid(f"{path}.port", port, why)
    place = service.get("path") or "/"
    if place == "/":
        return
    if not place.startswith("/"):
        yield invalid(f"{path}.path", place, "must start with a '/'")
    for index, step in enumerate(place.strip("/").split("/") if place != "//" else [""]):
        if not step:
            yield invalid(f"{path}.path", place, f"segment[{index}] may not be empty")
        for text in dns_subdomain_errors(step) if step else ():
            yield invalid(f"{path}.path", place, f"segment[{index}]: {text}")


def _version_errors(versions: Sequence[str], path: str) -> Iterator[FieldError]:
    known = ", ".join(_VERSIONS)
    if not versions:
        yield required(path, f"must specify one of {known}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
    if not set(versions) & set(_VERSIONS):
        yield invalid(path, list(versions), f"must include at least one of {known}")
    elif "v1" not in versions:
        yield invalid(path, list(versions), "must include v1: this server speaks no other version")


def _condition_errors(hook: Document, path: str, before: set[Any]) -> Iterator[FieldError]:
    conditions = hook.get("matchConditions") or ()
    if len(conditions) > _CONDITIONS_LIMIT:
        why = f"must have at most {_CONDITIONS_LIMIT} items"
        yield FieldError("FieldValueTooMany", path, why, len(conditions))
    names: set[str] = set()
    for index, one in enumerate(conditions):
        where, expression = f"{path}[{index}]", one.get("expression") or ""
        if not expression.strip():
            yield required(f"{where}.expression")
        elif expression not in before and (wrong := _problem(expression)):
            yield invalid(f"{where}.expression", expression, wrong)
        name = one.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        for text in qualified_name_errors(name) if name else ():
            yield invalid(f"{where}.name", name, text)
        if name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)


def _problem(expression: str) -> str:
    from kapy.apiserver.webhooks.conditions import problem

    return problem(expression)
