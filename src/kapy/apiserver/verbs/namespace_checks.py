"""Check that the namespace and the CustomResourceDefinition accept new objects."""

from __future__ import annotations

from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.resources.kind_errors import status_details
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.errors import Forbidden, NotFound


def check_namespace(server: ServerContext, context: RequestContext, document: Document) -> None:
    """Check that objects can be created in the namespace. Raises NotFound or Forbidden."""
    if not context.kind.namespaced:
        return
    table = server.store.peek("namespaces")
    namespace = None if table is None else table.latest("", context.namespace)
    if namespace is None:
        raise NotFound(
            f'namespaces "{context.namespace}" not found',
            details={"name": context.namespace, "kind": "namespaces"},
        )
    if namespace["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        resource = context.kind.resource
        what = f'{resource.group_resource} "{name}"'
        why = (
            f"unable to create new content in namespace {context.namespace} because it is being "
            "terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {context.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise Forbidden(
            f"{what} is forbidden: {why}",
            details={**status_details(context.kind, name), "causes": [cause]},
        )


def check_definition(server: ServerContext, context: RequestContext, document: Document) -> None:
    """Check that the kind's CustomResourceDefinition is not being deleted. Raises Forbidden."""
    if not context.kind.custom:
        return
    table = server.store.peek(DEFINITIONS)
    definition = None if table is None else table.latest("", context.kind.table)
    if definition is not None and definition["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        raise Forbidden(
            f'{context.kind.group_resource} "{name}" is forbidden: create not allowed while custom '
            "resource definition is terminating",
            details=status_details(context.kind, name),
        )
