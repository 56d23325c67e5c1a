"""The namespaces that may use an identity, by the rule of Cluster API's providers.

Without `allowedNamespaces` no namespace may; with an empty one all may; else those that it lists,
and those whose labels its selector selects. A selector without requirements selects nothing.
"""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.selectors import selector_of


def is_allowed(identity: Document, namespace: str, labels: dict[str, str]) -> bool:
    """Whether objects of a namespace with these labels may use an identity.

    Raises InvalidSelector.
    """
    allowed = (identity.get("spec") or {}).get("allowedNamespaces")
    if allowed is None:
        return False
    names, selector = allowed.get("list") or (), _requirements(allowed.get("selector"))
    if not names and not selector:
        return True
    return namespace in names or (bool(selector) and selector_of(selector).matches(labels))


def _requirements(selector: Document | None) -> Document:
    return {key: value for key, value in (selector or {}).items() if value}
