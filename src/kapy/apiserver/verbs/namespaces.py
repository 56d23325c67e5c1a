"""Check that the namespace and the CustomResourceDefinition accept new objects."""

from __future__ import annotations

from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import details
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.kube import Document
from kapy.kube.errors import Forbidden, NotFound


def check_namespace(plane: Plane, ask: Ask, document: Document) -> None:
    """Check that objects can be created in the namespace. Raises NotFound or Forbidden."""
    if not ask.kind.namespaced:
        return
    table = plane.store.peek("namespaces")
    namespace = None if table is None else table.latest("", ask.namespace)
    if namespace is None:
        raise NotFound(
            f'namespaces "{ask.namespace}" not found',
            details={"name": ask.namespace, "kind": "namespaces"},
        )
    if namespace["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        resource = ask.kind.resource
        what = f'{resource.group_resource} "{name}"'
        why = (
            f"unable to create new content in namespace {ask.namespace} because it is being "
            "terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {ask.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise Forbidden(
            f"{what} is forbidden: {why}", details={**details(ask.kind, name), "causes": [cause]}
        )


def check_definition(plane: Plane, ask: Ask, document: Document) -> None:
    """Check that the kind's CustomResourceDefinition is not being deleted. Raises Forbidden."""
    if not ask.kind.custom:
        return
    table = plane.store.peek(DEFINITIONS)
    definition = None if table is None else table.latest("", ask.kind.table)
    if definition is not None and definition["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        raise Forbidden(
            f'{ask.kind.group_resource} "{name}" is forbidden: create not allowed while custom '
            "resource definition is terminating",
            details=details(ask.kind, name),
        )
