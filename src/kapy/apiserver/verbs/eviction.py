"""`pods/eviction`: a deletion that disruption budgets may refuse.

Nothing here computes budgets (their controller does, where one runs), so every eviction that names
its Pod is granted.
"""

from __future__ import annotations

from typing import Any

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import not_found
from kapy.apiserver.verbs.deletion import _check, _options, end
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.http import Reply


async def evict(plane: Plane, ask: Ask) -> Reply:
    """Delete the Pod as the Eviction asks. Raises BadRequest, NotFound, Conflict."""
    content: Any = body.read(ask)
    if not isinstance(content, dict) or content.get("kind", "Eviction") != "Eviction":
        raise BadRequest("the body is no Eviction")
    name = (content.get("metadata") or {}).get("name", ask.name)
    if name != ask.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    options = _options(content.get("deleteOptions") or {})
    document = plane.table(ask.kind).latest(ask.namespace, ask.name)
    if document is None:
        raise not_found(ask.kind, ask.name)
    _check(ask, options, document)
    await end(plane, ask, document, options)
    success: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    return Reply(201, success)
