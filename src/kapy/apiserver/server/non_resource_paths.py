"""Non-resource paths: health, version, discovery, OpenAPI."""

from __future__ import annotations

import platform
import sys
from functools import lru_cache

from kapy.apiserver import openapi
from kapy.apiserver.errors import unsupported_method
from kapy.apiserver.resources.registry import KindIndex, Registry
from kapy.apiserver.server import discovery
from kapy.apiserver.server.health import Health
from kapy.kube import Document
from kapy.kube.http import Reply, Request

KUBERNETES = "v1.36.3"
"""The Kubernetes version whose behaviour this server implements."""

_SWAGGER = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_SWAGGER_ASKED = (_SWAGGER, _SWAGGER.replace(".v1.0", "@v1.0"))
"""Media types of OpenAPI v2 in protobuf; the second one is for older clients."""

_TEXT = {"content-type": "text/plain; charset=utf-8"}


def version() -> Document:
    """Return the document at `/version`."""
    _, minor, _ = KUBERNETES.removeprefix("v").split(".")
    return {
        "major": "1",
        "minor": minor,
        "emulationMajor": "1",
        "emulationMinor": minor,
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{KUBERNETES}+kapy",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{platform.machine()}",
    }


def non_resource_reply(registry: Registry, health: Health, request: Request) -> Reply | None:
    """Return the response for a non-resource path, None if there is no such page.

    As on kube-apiserver, many pages accept any method. Raises MethodNotAllowed.
    """
    if "//" in request.path:
        return None
    parts = [part for part in request.path.split("/") if part]
    if request.method != "GET" and _is_get_only(registry, parts):
        raise unsupported_method()
    match parts:
        case [] | ["index.html"]:
            return Reply(200, {"paths": _paths(registry, health)})
        case ["version"]:
            return Reply(200, version())
        case ["healthz" | "livez" | "readyz", *_]:
            return None if request.path.endswith("/") else health.page(request)
        case ["openapi", "v3", *rest]:
            return _openapi(registry, rest)
        case ["api" | "apis" as root, *rest]:
            return _discovery(registry, root, rest, request)
        case _:
            return None


def _is_get_only(registry: Registry, parts: list[str]) -> bool:
    """Report whether a page accepts only GET."""
    match parts:
        case ["version"] | ["api"] | ["api", "v1"]:
            return True
        case [".well-known", "openid-configuration"] | ["openid", "v1", "jwks"]:
            return True
        case ["apis", group, version]:
            kinds = [kind for kind in registry if kind.resource.group == group]
            served = any(kind.resource.version == version for kind in kinds)
            return served and not any(kind.custom for kind in kinds)
    return False


def _paths(registry: Registry, health: Health) -> list[str]:
    result = ["/api", "/api/v1", "/apis"]
    for group in dict.fromkeys(kind.resource.group for kind in registry if kind.resource.group):
        result.append(f"/apis/{group}")
        result += [f"/apis/{group}/{item}" for item in discovery.served_versions(registry, group)]
    return sorted([*result, *health.paths(), "/metrics", "/openapi/v2", "/openapi/v3", "/version"])


def _openapi(registry: Registry, rest: list[str]) -> Reply:
    match rest:
        case []:
            return Reply(200, openapi.encode_document(openapi.index(registry)), _TEXT)
        case ["api", version_name]:
            document = openapi.document(registry, "", version_name)
        case ["apis", group, version_name]:
            document = openapi.document(registry, group, version_name)
        case _:
            document = None
    if document is None:
        return Reply(404, b"")
    return Reply(200, document)


def openapi_v2(registry: Registry, accept: str) -> Reply:
    """Return OpenAPI v2 in the first form that the client accepts. Slow: call it in a thread."""
    for clause in accept.split(","):
        media = clause.partition(";")[0].strip()
        if media in _SWAGGER_ASKED:
            return Reply(
                200, _swagger_protobuf(registry, registry.custom), {"content-type": _SWAGGER}
            )
        if media in ("application/json", "application/*", "*/*"):
            break
    return Reply(
        200, _swagger_json(registry, registry.custom), {"content-type": "application/json"}
    )


# The custom kinds are part of the key, because they change.
@lru_cache(maxsize=1)
def _swagger_json(registry: Registry, _custom: KindIndex) -> bytes:
    return openapi.encode_document(openapi.swagger(registry))


@lru_cache(maxsize=1)
def _swagger_protobuf(registry: Registry, _custom: KindIndex) -> bytes:
    return openapi.encode_protobuf(openapi.swagger(registry))


def _discovery(registry: Registry, root: str, rest: list[str], request: Request) -> Reply | None:
    versions: Document | None = None
    match root, rest:
        case _, []:
            if _wants_aggregated(request):
                result = discovery.aggregated_discovery(registry, legacy=root == "api")
                return Reply(200, result, {"content-type": discovery.AGGREGATED})
            versions = (
                discovery.core_versions() if root == "api" else discovery.group_list(registry)
            )
        case "api", [version_name]:
            versions = discovery.resource_list(registry, "", version_name)
        case "apis", [group]:
            versions = discovery.group(registry, group)
        case "apis", [group, version_name]:
            versions = discovery.resource_list(registry, group, version_name)
        case _:
            pass
    return None if versions is None else Reply(200, versions)


def _wants_aggregated(request: Request) -> bool:
    """Report whether aggregated discovery (v2) is the client's preferred supported form."""
    for clause in request.headers.get("accept", "").split(","):
        parts = [part.strip() for part in clause.split(";")]
        if "as=APIGroupDiscoveryList" in parts:
            if "v=v2" in parts:
                return True
            continue
        if parts[0] in ("application/json", "*/*"):
            return False
    return False
