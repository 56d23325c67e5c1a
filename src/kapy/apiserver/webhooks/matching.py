"""Matching of requests against a webhook's rules and selectors, and the version to send."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.kind_errors import not_found
from kapy.apiserver.webhooks.admission_parts import AdmissionParts
from kapy.apiserver.webhooks.admission_review import namespace_of
from kapy.apiserver.webhooks.configuration import Webhook, is_exempt
from kapy.kube import Document
from kapy.kube.errors import ApiError
from kapy.kube.names import Resource
from kapy.kube.selectors import LabelSelector


def may_match(hook: Webhook, kinds: Sequence[Kind], subresource: str) -> bool:
    """Report whether a webhook may match writes of a resource.

    kinds: the resource's kind, then its other versions.
    """
    if is_exempt(kinds[0].resource):
        return False
    candidates = kinds if hook.equivalent else kinds[:1]
    return any(
        rule.covers(kind.resource, subresource) for rule in hook.rules for kind in candidates
    )


def match_version(
    parts: AdmissionParts,
    hook: Webhook,
    kinds: Sequence[Kind],
    review: Review,
    new: Document | None,
    old: Document | None,
) -> Kind | None:
    """Return the version in which the webhook receives the request, None if it does not match.

    kinds: the request's version, then the others. new, old: the objects in the request's version.
    Raises NotFound if the namespace for a namespaceSelector does not exist.
    """
    refusal: ApiError | None = None
    try:
        if not _matches_namespace(parts, hook, review):
            return None
    except ApiError as error:
        refusal = error  # raised only if all other criteria match
    if not _matches_selector(hook.objects, new) and not _matches_selector(hook.objects, old):
        return None
    kind = _by_rules(hook, kinds, review.operation, review.subresource)
    if kind is not None and refusal is not None:
        raise refusal
    return kind


def _by_rules(hook: Webhook, kinds: Sequence[Kind], operation: str, part: str) -> Kind | None:
    if any(rule.matches(operation, kinds[0].resource, part) for rule in hook.rules):
        return kinds[0]
    if not hook.equivalent:
        return None
    return next(
        (
            kind
            for rule in hook.rules
            for kind in kinds[1:]
            if rule.matches(operation, kind.resource, part)
        ),
        None,
    )


def _matches_selector(selector: LabelSelector, document: Document | None) -> bool:
    if selector.everything:
        return True
    return document is not None and selector.matches(document["metadata"].get("labels"))


def _is_namespace(resource: Resource) -> bool:
    return resource.plural == "namespaces" and not resource.group


def _matches_namespace(parts: AdmissionParts, hook: Webhook, review: Review) -> bool:
    if hook.namespaces.everything:
        return True
    name = namespace_of(review)
    if not name and not _is_namespace(review.resource):
        return True
    new = review.new
    if _is_namespace(review.resource) and not review.subresource and new is not None:
        return hook.namespaces.matches(new["metadata"].get("labels"))
    result = parts.store.table("namespaces").latest("", name)
    if result is None:
        kind = parts.registry.find("", "v1", "namespaces")
        assert kind is not None
        raise not_found(kind, name)
    return hook.namespaces.matches(result["metadata"].get("labels"))
