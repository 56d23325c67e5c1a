"""Tests of the parsing of requests into the fields of kube-apiserver's RequestInfo."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kapy.apiserver.request.request_info import RequestInfo, _parse, _parse_cached, request_info
from kapy.apiserver.serving.asgi_messages import parse_query
from kapy.kube.http import ANONYMOUS, Request


def read(method: str, target: str) -> RequestInfo:
    path, _, query = target.partition("?")
    results = parse_query({"query_string": query.encode()})
    return request_info(Request(method, unquote(path), results))


def seen(method: str, target: str) -> tuple[str, str, str, str, str, str]:
    """Verb, group, namespace, resource, subresource, name of a request for a resource."""
    info = read(method, target)
    assert info.is_resource
    group, space, part = info.group, info.namespace, info.subresource
    return info.verb, group, space, info.resource, part, info.name


NS = "/api/v1/namespaces/other"
PODS = f"{NS}/pods"
SELECTED = f"{PODS}?fieldSelector="
LIST = ("list", "", "other", "pods", "", "")
ONE = ("list", "", "other", "pods", "", "a")
NAMED_WATCH = "/api/v1/watch/pods?fieldSelector=metadata.name=a"


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        # collections and objects
        ("GET", "/api/v1/namespaces", ("list", "", "", "namespaces", "", "")),
        ("GET", NS, ("get", "", "other", "namespaces", "", "other")),
        ("GET", PODS, LIST),
        ("GET", f"{PODS}/foo", ("get", "", "other", "pods", "", "foo")),
        ("HEAD", f"{PODS}/foo", ("get", "", "other", "pods", "", "foo")),
        ("HEAD", PODS, LIST),
        ("GET", "/api/v1/pods", ("list", "", "", "pods", "", "")),
        ("POST", PODS, ("create", "", "other", "pods", "", "")),
        ("POST", f"{PODS}/foo", ("create", "", "other", "pods", "", "foo")),
        ("PUT", f"{PODS}/foo", ("update", "", "other", "pods", "", "foo")),
        ("PATCH", f"{PODS}/foo", ("patch", "", "other", "pods", "", "foo")),
        ("DELETE", f"{PODS}/foo", ("delete", "", "other", "pods", "", "foo")),
        ("DELETE", PODS, ("deletecollection", "", "other", "pods", "", "")),
        ("OPTIONS", PODS, ("", "", "other", "pods", "", "")),
        ("FROB", f"{PODS}/foo", ("", "", "other", "pods", "", "foo")),
        # subresources, of namespaces, too
        ("GET", f"{PODS}/foo/log", ("get", "", "other", "pods", "log", "foo")),
        ("GET", f"{PODS}/foo/proxy/a/b", ("get", "", "other", "pods", "proxy", "foo")),
        ("POST", f"{PODS}/foo/eviction", ("create", "", "other", "pods", "eviction", "foo")),
        ("PUT", f"{NS}/status", ("update", "", "other", "namespaces", "status", "other")),
        ("PUT", f"{NS}/finalize", ("update", "", "other", "namespaces", "finalize", "other")),
        ("GET", f"{NS}/status/x", ("get", "", "other", "namespaces", "status", "other")),
        ("GET", "/api/v1/namespaces/status", ("get", "", "status", "namespaces", "", "status")),
        # groups
        ("GET", "/apis/apps/v1/namespaces/a/b/c", ("get", "apps", "a", "b", "", "c")),
        ("GET", "/apis/x.dev/v1/namespaces/a", ("get", "x.dev", "a", "namespaces", "", "a")),
        ("GET", "/apis/x.dev/v1/things", ("list", "x.dev", "", "things", "", "")),
        # the old prefixes: they are verbs, whatever the method
        ("GET", "/api/v1/watch/pods", ("watch", "", "", "pods", "", "")),
        ("POST", "/api/v1/watch/pods", ("watch", "", "", "pods", "", "")),
        ("DELETE", "/api/v1/watch/namespaces/a/pods", ("watch", "", "a", "pods", "", "")),
        ("GET", "/api/v1/watch/namespaces/a/pods/b", ("watch", "", "a", "pods", "", "b")),
        ("GET", "/api/v1/watch/namespaces/a", ("watch", "", "a", "namespaces", "", "a")),
        ("GET", "/api/v1/proxy/nodes/a/b/c", ("proxy", "", "", "nodes", "", "a")),
        ("PUT", "/api/v1/proxy/namespaces/a/pods/b/c", ("proxy", "", "a", "pods", "", "b")),
        ("GET", NAMED_WATCH, ("watch", "", "", "pods", "", "")),
        ("GET", "/api/v1/watch", ("get", "", "", "", "", "")),
        # watches of collections only
        ("GET", f"{PODS}?watch=true", ("watch", "", "other", "pods", "", "")),
        ("GET", f"{PODS}?watch", ("watch", "", "other", "pods", "", "")),
        ("GET", f"{PODS}?watch=junk", ("watch", "", "other", "pods", "", "")),
        ("GET", f"{PODS}?watch=0", LIST),
        ("GET", f"{PODS}?watch=FALSE", LIST),
        ("GET", f"{PODS}?watch=0&watch=1", LIST),
        ("GET", f"{PODS}/foo?watch=true", ("get", "", "other", "pods", "", "foo")),
        ("POST", f"{PODS}?watch=true", ("create", "", "other", "pods", "", "")),
        # one selected name, of lists and watches only
        ("GET", f"{SELECTED}metadata.name=a", ONE),
        ("GET", f"{SELECTED}metadata.name%3D%3Da", ONE),
        ("GET", f"{SELECTED}metadata.name=a&watch=1", ("watch", "", "other", "pods", "", "a")),
        ("GET", f"{SELECTED}x=y,metadata.name=a", ONE),
        ("GET", f"{SELECTED}metadata.name=b,metadata.name=a", ONE),
        ("GET", f"{SELECTED}metadata.name=a\\,b", ("list", "", "other", "pods", "", "a,b")),
        ("GET", f"{SELECTED}metadata.name!=a", LIST),
        ("GET", f"{SELECTED}metadata.name=", LIST),
        ("GET", f"{SELECTED}metadata.name%20=a", LIST),
        ("GET", f"{SELECTED}metadata.name=a/b", LIST),
        ("GET", f"{SELECTED}metadata.name=a%2525", LIST),
        ("GET", f"{SELECTED}metadata.name=..", LIST),
        ("GET", f"{SELECTED}metadata.name", LIST),
        ("GET", f"{SELECTED}metadata.name=a\\b", LIST),
        ("GET", f"{SELECTED}metadata.name=a&fieldSelector=x=y", ONE),
        ("GET", f"{SELECTED}metadata.name=a&limit=x", LIST),
        ("GET", f"{SELECTED}metadata.name=a&limit=", LIST),
        ("GET", f"{SELECTED}metadata.name=a&timeoutSeconds=x", LIST),
        ("GET", f"{SELECTED}metadata.name=a&labelSelector=a%20b", LIST),
        ("POST", f"{SELECTED}metadata.name=a", ("create", "", "other", "pods", "", "")),
        ("PUT", f"{SELECTED}metadata.name=a", ("update", "", "other", "pods", "", "")),
        ("PATCH", f"{SELECTED}metadata.name=a", ("patch", "", "other", "pods", "", "")),
        ("DELETE", f"{SELECTED}metadata.name=a", ("deletecollection", "", "other", "pods", "", "")),
        ("GET", f"{PODS}/b?fieldSelector=metadata.name=a", ("get", "", "other", "pods", "", "b")),
        # parameters that are not well-formed are none
        ("GET", f"{SELECTED}metadata.name=%zz&fieldSelector=metadata.name=a", ONE),
        ("GET", f"{SELECTED}metadata.name=a;x=y", LIST),
        ("GET", f"{PODS}?x;fieldSelector=metadata.name=a", LIST),
        ("GET", f"{PODS}?watch=%", LIST),
        ("GET", f"{PODS}?watch=1;2", LIST),
        ("GET", f"{PODS}?%66ieldSelector=metadata%2Ename=%61", ONE),
        # slashes, and what is encoded
        ("GET", f"{PODS}/", LIST),
        ("GET", f"//{PODS[1:]}//", LIST),
        ("GET", "/api/v1//pods", ("get", "", "", "", "", "pods")),
        ("GET", "/api/v1/namespaces//pods", ("list", "", "", "pods", "", "")),
        ("GET", f"{PODS}/a%2Flog", ("get", "", "other", "pods", "log", "a")),
        ("GET", "/api/v1/namespaces/other%2Fpods", LIST),
        ("GET", f"{PODS}/a%2e", ("get", "", "other", "pods", "", "a.")),
    ],
)
def test_paths_of_resources_are_parsed(
    method: str, target: str, expected: tuple[str, str, str, str, str, str]
) -> None:
    assert seen(method, target) == expected


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("GET", "/", "get"),
        ("GET", "", "get"),
        ("GET", "/api", "get"),
        ("GET", "/api/", "get"),
        ("GET", "/api/v1", "get"),
        ("GET", "/api/v1/", "get"),
        ("GET", "/apis", "get"),
        ("POST", "/apis/apps", "post"),
        ("GET", "/apis/apps/v1", "get"),
        ("GET", "/apis/apps/v1/", "get"),
        ("HEAD", "/healthz", "head"),
        ("DELETE", "/API/v1/pods", "delete"),
        ("FROB", "/metrics/pods/x/y", "frob"),
        ("GET", "/openapi/v3/apis/apps/v1", "get"),
    ],
)
def test_paths_without_a_resource_are_parsed(method: str, path: str, verb: str) -> None:
    info = read(method, path)
    attributes = info.attributes(ANONYMOUS)
    assert (info.is_resource, info.verb, attributes.path) == (False, verb, path)
    assert not attributes.is_resource
    assert attributes.resource == attributes.name == attributes.namespace == ""


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/api/v1/pods?fieldSelector=a=b&labelSelector=c=d", ("a=b", "c=d")),
        ("GET", "/api/v1/pods?watch=1&labelSelector=c", ("", "c")),
        ("DELETE", "/api/v1/pods?fieldSelector=a", ("a", "")),
        ("POST", "/api/v1/pods?fieldSelector=a=b", ("", "")),
        ("GET", "/api/v1/watch/pods?fieldSelector=a=b", ("", "")),
        ("GET", "/api/v1/pods/x?fieldSelector=a=b", ("", "")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name=x", ("metadata.name=x", "")),
    ],
)
def test_selectors_are_passed_to_authorizers_of_many_objects(
    method: str, target: str, expected: tuple[str, str]
) -> None:
    attributes = read(method, target).attributes(ANONYMOUS)
    assert (attributes.field_selector, attributes.label_selector) == expected


def test_a_path_without_a_resource_name_is_not_cached() -> None:
    attributes = read("GET", "/api/v1//pods").attributes(ANONYMOUS)
    assert attributes.is_resource
    assert (attributes.resource, attributes.name, attributes.path) == ("", "pods", None)


_ROOTS = ["", "/", "/api", "/api/v1", "//api/v1", "/apis/apps/v1", "/api/v1/namespaces/x"]
_PARTS = ["", "namespaces", "pods", "watch", "proxy", "status", "x"]


@given(st.sampled_from(_ROOTS), st.lists(st.sampled_from(_PARTS), max_size=5))
@settings(max_examples=1000)
def test_an_object_of_a_known_collection_is_read_as_its_whole_path(
    root: str, parts: list[str]
) -> None:
    path = "/".join([root, *parts])
    assert structs.astuple(_parse_cached(path, "GET")) == structs.astuple(_parse(path, "GET"))
