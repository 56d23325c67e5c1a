"""Lists: selectors, pages, resourceVersions, Tables and other forms."""

from __future__ import annotations

from typing import Final

from tests.differential.case import Case, Json, Step, request
from tests.differential.draw import Draw
from tests.differential.kinds import (
    CONFIG_MAP,
    LEASE,
    SECRET,
    SERVICE_ACCOUNT,
    SHAPE,
    VERSIONED,
    WIDGET,
    Kind,
)

KINDS: Final = {
    WIDGET: 5.0,
    SHAPE: 1.0,
    CONFIG_MAP: 3.0,
    SECRET: 1.0,
    SERVICE_ACCOUNT: 0.7,
    LEASE: 0.7,
    VERSIONED[1]: 0.7,
}

LABELS: Final = (
    "a", "!a", "a=1", "a==1", "a!=1", "a in (1,2)", "a notin (1)", "a in ()", "a in (1", "a>0", "a<2",
    "a=1,b", "a,", ",a", "", " ", "a=", "a in (,)", "a = 1", "a/b/c=1", "-a", "a=-", "a=b c", "a b",
    "x.y/z=1", "a=1,a=2", "!", "a!", "a>x", "a notin", "in", "a in 1", "(a)", "a=1;b=2", "A_b=1",
    "a" * 64, "a=" + "b" * 64, "!a,!b", "a,b,c=2", "a in (1, 2),b notin (x)", "a>>1", "a!==1",
)  # fmt: skip
FIELDS: Final = (
    "metadata.name=one", "metadata.name!=one", "metadata.name==one", "metadata.namespace=${ns}",
    "metadata.namespace!=x", "metadata.name=one,metadata.namespace=${ns}", "spec.size=small",
    "spec.size!=small", "spec.replicas=1", "spec.enabled=true", "spec.code=x", "metadata.labels=x",
    "metadata.uid=x", "status.phase=x", "x", "=", "metadata.name", "metadata.name=", "metadata.name=a=b",
    "metadata.name=one,", ",", "metadata.name>one", "type=Opaque", "type!=Opaque", "metadata.name=a\\,b",
    "metadata.name=\\", "spec.size=small,spec.replicas=1", "metadata.name=one,metadata.name=two",
    "kind=X", " metadata.name=one", "metadata.name =one", "",
)  # fmt: skip
ACCEPTS: Final = (
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Table;v=v1",
    "application/json;as=Table;g=meta.k8s.io",
    "application/yaml",
    "application/json;as=X;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;q=0.3,application/yaml;q=0.7",
    "application/yaml;q=0.3,application/json;q=0.7",
    "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.2,application/json",
    "*/*;q=0.1,application/yaml",
    "application/*,application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;sv=v1",
    "application/json;sv=v2",
    "application/json;g=meta.k8s.io",
    "application/json;stream=watch",
    "application/json;stream=x",
    "application/json;charset=utf-8;pretty=1",
    "text/html,*/*;q=0.5",
    "application/json/x,application/json",
    ";,application/json",
    "application/json;q=x,application/yaml;q=0.1",
)
VERSIONS: Final = ("0", "${rv}", "1", "x", "-1", "", "9999999999", "01", "1.5", "${first}")


def generate(draw: Draw) -> Case:
    """Some objects, and lists of them."""
    kind = draw.weighted(KINDS)
    steps: list[Step] = []
    names = ("one", "two", "three", "four")[: draw.number(1, 4)]
    for number, name in enumerate(names):
        labels = {key: draw.one(("1", "2", "x", "")) for key in draw.some(("a", "b", "c"))}
        word = "rv" if number else "first"
        saved = {word: "/metadata/resourceVersion", "rv": "/metadata/resourceVersion"}
        steps.append(request("POST", kind.path, kind.object(draw, name, labels=labels), save=saved))
    for _ in range(draw.number(5, 9)):
        steps.append(_list(draw, kind))
        if "limit" in steps[-1]["request"].get("query", {}) and draw.chance(0.7):
            steps[-1]["save"] = {"more": "/metadata/continue"}
            query = {"limit": "1", "continue": "${more}", **_more(draw)}
            steps.append(request("GET", kind.path, query=query))
    return {"steps": steps}


def _more(draw: Draw) -> Json:
    if draw.chance(0.8):
        return {}
    return draw.one(
        (
            {"resourceVersion": "0"},
            {"resourceVersion": "${rv}"},
            {"labelSelector": "a"},
            {"resourceVersionMatch": "Exact"},
        )
    )


def _list(draw: Draw, kind: Kind) -> Step:
    query: Json = {}
    if draw.chance(0.35):
        query["labelSelector"] = draw.one(LABELS)
    if draw.chance(0.3):
        query["fieldSelector"] = draw.one(FIELDS)
    if draw.chance(0.25):
        query["limit"] = draw.one(("1", "2", "1", "2", "0", "-1", "x", "", "500", "1.5"))
    if draw.chance(0.2):
        query["resourceVersion"] = draw.one(VERSIONS)
    if draw.chance(0.15):
        query["resourceVersionMatch"] = draw.one(("Exact", "NotOlderThan", "exact", "", "x"))
    if draw.chance(0.05):
        query["continue"] = draw.one(("x", "", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"))
    if draw.chance(0.06):
        query |= draw.one(
            (
                {"timeoutSeconds": "5"},
                {"timeoutSeconds": "x"},
                {"allowWatchBookmarks": "true"},
                {"sendInitialEvents": "true"},
                {"sendInitialEvents": "x"},
                {"watch": "false"},
                {"watch": "0"},
                {"includeObject": "Object"},
                {"pretty": "true"},
            )
        )
    headers = {"Accept": draw.one(ACCEPTS)} if draw.chance(0.3) else {}
    if headers and draw.chance(0.3):
        query["includeObject"] = draw.one(("None", "Metadata", "Object", "x", ""))
    if draw.chance(0.1):
        part = draw.one(("", "", "status", "scale"))
        path = kind.at(draw.one(("one", "two", "none")), part)
        return request("GET", path, query=query, headers=headers)
    if draw.chance(0.1):  # other cases have objects in other namespaces
        query["fieldSelector"] = "metadata.namespace=${ns}" + draw.one(
            ("", ",metadata.name=one", ",metadata.name!=one", ",x=y")
        )
        query.pop("limit", None)
        return request("GET", kind.everywhere, query=query, headers=headers)
    if draw.chance(0.04):
        return request("HEAD", kind.path, query=query, headers=headers)
    return request("GET", kind.path, query=query, headers=headers)
