"""Build the OpenAPI document of a catalog, and short descriptions of hooks."""

from __future__ import annotations

from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import AnyHook
from kapy.hooks.openapi.components import message_component, reference
from kapy.hooks.openapi.schemas import Schemas
from kapy.kube import Document

_ABOUT = (
    "Cluster API calls runtime hooks at defined points in the life of clusters. A runtime "
    "extension is an HTTPS server. It serves the Discovery hook, which returns its handlers, and "
    "each handler at the path of its hook followed by the name of the handler."
)
_NAME = "name is the name of the handler. Handlers of one extension have different names."
_ANSWERED = (
    "The extension has answered. The fields status and message of the response tell the result."
)


def openapi(catalog: Catalog, version: str) -> Document:
    """Return the OpenAPI document of all hooks. version: the release, as in v1.14.0."""
    schemas = Schemas()
    paths = {_path(hook): {"post": _operation(hook, schemas)} for hook in catalog}
    return {
        "openapi": "3.0.0",
        "info": {
            "title": "Cluster API - Runtime SDK",
            "description": _ABOUT,
            "license": {
                "name": "Apache 2.0",
                "url": "http://www.apache.org/licenses/LICENSE-2.0.html",
            },
            "version": version,
        },
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted(schemas.components.items()))},
    }


def describe_hook(hook: AnyHook) -> Document:
    """Describe a hook briefly: its version, paths, messages and purpose."""
    return {
        "group": hook.group,
        "version": hook.version,
        "hook": hook.name,
        "groupHook": hook.group_hook,
        "path": hook.path(),
        "request": {"apiVersion": hook.api_version, "kind": hook.request_kind},
        "response": {"apiVersion": hook.api_version, "kind": hook.response_kind},
        "responseHasRetryAfterSeconds": hook.is_blocking,
        "string": str(hook),
        "metadata": {
            "Summary": hook.summary,
            "Description": hook.description,
            "Tags": list(hook.tags),
            "Deprecated": hook.deprecation is not None,
            "Singleton": hook.singleton,
        },
    }


def _path(hook: AnyHook) -> str:
    return hook.path() if hook.singleton else hook.path("{name}")


def _operation(hook: AnyHook, schemas: Schemas) -> Document:
    request = message_component(hook, hook.request_kind)
    response = message_component(hook, hook.response_kind)
    schemas.add(request, hook.request)
    schemas.add(response, hook.response)
    operation: Document = {
        "operationId": _operation_id(hook),
        "summary": hook.summary,
        "description": hook.description,
        "tags": list(hook.tags),
        "requestBody": _content(request),
        "responses": {"200": {"description": _ANSWERED, **_content(response)}},
    }
    if not hook.singleton:
        operation["parameters"] = [
            {
                "name": "name",
                "in": "path",
                "description": _NAME,
                "required": True,
                "schema": {"type": "string"},
            }
        ]
    return operation | ({"deprecated": True} if hook.deprecation else {})


def _content(component: str) -> Document:
    return {"content": {"application/json": {"schema": {"$ref": reference(component)}}}}


def _operation_id(hook: AnyHook) -> str:
    """Return an operation ID like Kubernetes': hooksRuntimeClusterV1alpha1Discovery."""
    head, *tail = hook.group.removesuffix(".x-k8s.io").split(".")
    return head + "".join(item[:1].upper() + item[1:] for item in (*tail, hook.version, hook.name))
