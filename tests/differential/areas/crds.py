"""CustomResourceDefinitions, legal and slightly illegal, created and not stored."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Final

from tests.differential.case import Case, Json, request
from tests.differential.draw import Draw

BASE: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TYPES = ("object", "string", "integer", "number", "boolean", "array")
WORDS = ("a", "b", "c", "name", "spec", "kind")
RULES = (
    "self == oldSelf",
    "self.a == 'x'",
    "size(self) < 5",
    "true",
    "self.all(x, x == x)",
    "has(self.a)",
    "self > 3",
    "'x'",
    "1 +",
    "oldSelf.orValue(self) == self",
    "self.a.matches('^[a-z]+$')",
    "self.size() > 2",
    "self.startsWith('a')",
    "",
    " ",
    "self.a\n== 'x'",
    "self.foo == 1",
)


def schema(draw: Draw, depth: int = 0, *, root: bool = False) -> Json:
    if root:
        out: Json = {"type": "object"}
        kind = "object"
    else:
        kind = draw.weighted(
            {
                "object": 3,
                "string": 4,
                "integer": 2,
                "number": 1,
                "boolean": 1,
                "array": 3 if depth < 3 else 0,
                "": 0.4,
                "null": 0.05,
                "text": 0.05,
            }
        )
        out = {"type": kind} if kind else {}
        if not kind and draw.chance(0.6):
            out[
                draw.one(("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"))
            ] = True
    if depth < 3 and (kind == "object" or draw.chance(0.02)):
        if draw.chance(0.75) or root:
            out["properties"] = {
                w: schema(draw, depth + 1) for w in [draw.one(WORDS), *draw.some(WORDS, 2)]
            }
            if root and draw.chance(0.15):
                out["properties"]["metadata"] = meta(draw)
        elif draw.chance(0.6) or True:
            out["additionalProperties"] = (
                schema(draw, depth + 1) if draw.chance(0.8) else draw.chance(0.5)
            )
        if draw.chance(0.02):
            out["additionalProperties"] = (
                schema(draw, depth + 1) if draw.chance(0.8) else draw.chance(0.5)
            )
    if kind == "array":
        if draw.chance(0.96):
            out["items"] = schema(draw, depth + 1)
        if draw.chance(0.35):
            out["x-kubernetes-list-type"] = draw.weighted(
                {"atomic": 2, "set": 3, "map": 4, "odd": 0.2}
            )
        if out.get("x-kubernetes-list-type") == "map" and draw.chance(0.9):
            props = list((out.get("items") or {}).get("properties") or {})
            out["x-kubernetes-list-map-keys"] = (
                draw.random.sample(sorted({*props, "a"}), 1) if draw.chance(0.9) else ["zz"]
            )
    for name, share, make in KEYWORDS:
        if draw.chance(share):
            out[name] = make(draw, kind)
    if draw.chance(0.08):
        out[draw.one(("allOf", "anyOf", "oneOf"))] = [
            junctor(draw, out) for _ in range(draw.number(1, 2))
        ]
    if draw.chance(0.03):
        out["not"] = junctor(draw, out)
    if draw.chance(0.02):
        out["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if draw.chance(0.06):
        out["x-kubernetes-validations"] = [rule(draw) for _ in range(draw.number(1, 2))]
    return out


def meta(draw: Draw) -> Json:
    out: Json = {"type": draw.weighted({"object": 5, "string": 1})}
    if draw.chance(0.6):
        out["properties"] = {
            w: {
                "type": "string",
                **({"default": "x"} if draw.chance(0.3) else {}),
                **({"maxLength": 5} if draw.chance(0.3) else {}),
            }
            for w in [draw.one(("name", "generateName", "labels"))]
        }
    if draw.chance(0.2):
        out["default"] = {}
    if draw.chance(0.1):
        out["description"] = "x"
    return out


def rule(draw: Draw) -> Json:
    out: Json = {"rule": draw.one(RULES)}
    if draw.chance(0.3):
        out["message"] = draw.one(("no", "", " ", "a\nb", "x" * 90))
    if draw.chance(0.15):
        out["messageExpression"] = draw.one(("'x' + 'y'", "self.a", "1", "", " ", "nope"))
    if draw.chance(0.15):
        out["reason"] = draw.one(("FieldValueInvalid", "FieldValueForbidden", "Odd"))
    if draw.chance(0.15):
        out["fieldPath"] = draw.one((".a", ".zz", "a", "", " ", "['a']", ".a.b", ".a\n"))
    if draw.chance(0.1):
        out["optionalOldSelf"] = draw.chance(0.7)
    return out


def junctor(draw: Draw, around: Json, depth: int = 0) -> Json:
    out: Json = {}
    makers: tuple[tuple[str, Callable[[], Json]], ...] = (
        ("required", lambda: ["a"]),
        ("minLength", lambda: 2),
        ("type", lambda: draw.one(TYPES)),
        ("description", lambda: "x"),
        ("pattern", lambda: draw.one(("^a", "("))),
        ("default", lambda: 1),
        ("nullable", lambda: True),
        ("x-kubernetes-int-or-string", lambda: True),
        ("title", lambda: "t"),
        ("enum", lambda: ["a"]),
        ("format", lambda: "date"),
        ("x-kubernetes-list-type", lambda: "set"),
        ("x-kubernetes-preserve-unknown-fields", lambda: True),
        ("x-kubernetes-embedded-resource", lambda: True),
        ("additionalProperties", lambda: draw.one((True, False, {}, {"minLength": 1}))),
        ("x-kubernetes-validations", lambda: [{"rule": "true"}]),
    )
    for name, make in makers:
        if draw.chance(0.12):
            out[name] = make()
    if draw.chance(0.3):
        names = [*(around.get("properties") or {}), "zz", "metadata"]
        out["properties"] = {n: junctor(draw, {}, 1) for n in [draw.one(names)]}
    if draw.chance(0.1):
        out["items"] = junctor(draw, {}, 1)
    if depth < 1 and draw.chance(0.15):
        out[draw.one(("allOf", "anyOf"))] = [junctor(draw, around, depth + 1)]
    return out


def default(draw: Draw, kind: str) -> Json:
    good = {
        "object": {},
        "string": "x",
        "integer": 3,
        "number": 1.5,
        "boolean": True,
        "array": [],
    }.get(kind, "x")
    return (
        good
        if draw.chance(0.6)
        else draw.one(
            (
                {},
                {"a": "x"},
                {"zz": 1},
                "y",
                1,
                2.5,
                False,
                [],
                ["a", "a"],
                [1],
                None,
                {"apiVersion": "v1", "kind": "Pod"},
                {"a": None},
            )
        )
    )


KEYWORDS: Final[tuple[tuple[str, float, Callable[[Draw, str], Json]], ...]] = (
    ("default", 0.12, default),
    ("description", 0.1, lambda d, k: "text"),
    ("nullable", 0.06, lambda d, k: d.chance(0.8)),
    ("pattern", 0.04, lambda d, k: d.one(("^[a-z]+$", "a", "^$"))),
    (
        "format",
        0.06,
        lambda d, k: d.one(
            (
                "date",
                "int32",
                "int64",
                "float",
                "odd",
                "date-time",
                "byte",
                "uuid",
                "k8s-short-name",
                "int-or-string",
                "ipv4",
            )
        ),
    ),
    ("enum", 0.05, lambda d, k: d.one((["x", "y"], [1, 2], [True], [None, "x"]))),
    ("minLength", 0.04, lambda d, k: d.number(-1, 3)),
    ("maxLength", 0.08, lambda d, k: d.number(0, 9)),
    ("minimum", 0.04, lambda d, k: d.one((0, 1, 2.5))),
    ("maximum", 0.04, lambda d, k: d.one((0, 5, 7.5))),
    ("exclusiveMinimum", 0.02, lambda d, k: d.chance(0.5)),
    ("multipleOf", 0.02, lambda d, k: d.one((2, 0.5))),
    ("minItems", 0.03, lambda d, k: d.number(0, 2)),
    ("maxItems", 0.1, lambda d, k: d.number(0, 1000)),
    ("maxProperties", 0.05, lambda d, k: d.number(0, 100)),
    ("required", 0.06, lambda d, k: [d.one(("a", "b", "zz"))]),
    ("uniqueItems", 0.02, lambda d, k: d.chance(0.7)),
    ("$ref", 0.01, lambda d, k: d.one(("#/x", ""))),
    ("id", 0.006, lambda d, k: "x"),
    ("$schema", 0.006, lambda d, k: "x"),
    ("title", 0.02, lambda d, k: "t"),
    ("definitions", 0.006, lambda d, k: {"x": {"type": "string"}}),
    ("dependencies", 0.006, lambda d, k: {"x": ["a"]}),
    ("patternProperties", 0.006, lambda d, k: {"x": {"type": "string"}}),
    ("additionalItems", 0.006, lambda d, k: d.one((True, False, {"type": "string"}))),
    ("example", 0.02, lambda d, k: d.one((1, {}, None))),
    ("externalDocs", 0.01, lambda d, k: {"url": "x"}),
    ("x-kubernetes-preserve-unknown-fields", 0.05, lambda d, k: d.chance(0.85)),
    ("x-kubernetes-embedded-resource", 0.04, lambda d, k: d.chance(0.9)),
    ("x-kubernetes-int-or-string", 0.03, lambda d, k: d.chance(0.9)),
    ("x-kubernetes-map-type", 0.05, lambda d, k: d.one(("atomic", "granular", "odd"))),
    ("x-kubernetes-list-type", 0.01, lambda d, k: d.one(("atomic", "set", "map"))),
    ("x-kubernetes-list-map-keys", 0.01, lambda d, k: ["a"]),
    ("additionalProperties", 0.004, lambda d, k: d.one((True, False, {"type": "string"}, 3))),
    ("items", 0.004, lambda d, k: d.one(([{"type": "string"}], {"type": "string"}))),
    ("unknown", 0.01, lambda d, k: 1),
)

NAMES = ("", "Things", "a.b", "-x", "things", "Thing", "x" * 70, "thing")


def crd(draw: Draw) -> Json:
    n = draw.weighted({1: 6, 2: 2, 3: 1, 0: 0.1})
    versions = [version(draw, i) for i in range(n)]
    if n > 1 and draw.chance(0.4):
        for name in ("schema", "subresources", "additionalPrinterColumns", "selectableFields"):
            if name in versions[0]:
                for item in versions:
                    item[name] = copy.deepcopy(versions[0][name])
    spec: Json = {
        "group": "x.example.dev",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": versions,
    }
    meta: Json = {"name": "things.x.example.dev"}
    if draw.chance(0.1):
        spec["group"] = draw.one(("", "x", "X.dev", "x.k8s.io", "k8s.io", "a..b", "x.example.dev"))
    if draw.chance(0.08):
        spec["scope"] = draw.one(("", "Odd", "Cluster"))
    if draw.chance(0.2):
        for field in draw.some(("plural", "kind", "singular", "listKind"), 2):
            spec["names"][field] = draw.one(NAMES)
    if draw.chance(0.08):
        spec["names"]["shortNames"] = draw.some(NAMES, 2)
    if draw.chance(0.08):
        spec["names"]["categories"] = draw.some(NAMES, 2)
    if draw.chance(0.05):
        spec["preserveUnknownFields"] = draw.chance(0.7)
    if draw.chance(0.2):
        spec["conversion"] = conversion(draw)
    if draw.chance(0.5):
        meta["name"] = f"{spec['names'].get('plural', '')}.{spec['group']}"
    if draw.chance(0.05):
        meta["annotations"] = {
            "api-approved.kubernetes.io": draw.one(
                ("", "unapproved", "https://x.dev/1", "x", "http:")
            )
        }
    if draw.chance(0.03):
        spec[draw.one(("zz", "validation", "version"))] = draw.one(("v1", {}, 1))
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": spec,
    }


def version(draw: Draw, i: int) -> Json:
    out: Json = {"name": f"v{i + 1}", "served": True, "storage": i == 0}
    if draw.chance(0.03):
        out["name"] = draw.one(("", "V1", "v1", "1", "v.1"))
    if draw.chance(0.03):
        out["storage"] = not out["storage"]
    if draw.chance(0.03):
        out["served"] = False
    if draw.chance(0.98):
        out["schema"] = {"openAPIV3Schema": schema(draw, root=True)}
    elif draw.chance(0.5):
        out["schema"] = {}
    if draw.chance(0.3):
        out["subresources"] = {}
        if draw.chance(0.7):
            out["subresources"]["status"] = {}
        if draw.chance(0.5):
            out["subresources"]["scale"] = {
                k: v
                for k, v in (
                    (
                        "specReplicasPath",
                        draw.one((".spec.replicas", ".status.x", "spec", "", ".")),
                    ),
                    ("statusReplicasPath", draw.one((".status.replicas", ".spec.x", ""))),
                    ("labelSelectorPath", draw.one((".status.selector", ".spec.x", "", "x", ".x"))),
                )
                if draw.chance(0.85)
            }
    if draw.chance(0.15):
        out["additionalPrinterColumns"] = [
            {
                k: v
                for k, v in (
                    ("name", draw.one(("A", ""))),
                    ("type", draw.one(("string", "integer", "odd", "date"))),
                    ("jsonPath", draw.one((".spec.a", "spec", ".", ""))),
                    ("format", draw.one(("", "int32", "odd"))),
                    ("priority", draw.one((0, 1))),
                )
                if draw.chance(0.9)
            }
            for _ in range(draw.number(1, 2))
        ]
    if draw.chance(0.12):
        out["selectableFields"] = [
            {
                "jsonPath": draw.one(
                    (
                        ".spec.a",
                        ".spec",
                        "",
                        ".a",
                        ".b",
                        "a",
                        ".spec.a.b",
                        ".metadata.name",
                        ".a['b']",
                        ".",
                        ".c",
                        ".kind",
                    )
                )
            }
            for _ in range(draw.weighted({1: 4, 2: 3, 10: 0.5}))
        ]
    if draw.chance(0.05):
        out["deprecated"] = True
    if draw.chance(0.05):
        out["deprecationWarning"] = draw.one(("", "old", "x" * 300, "a\nb", "é\u200b"))
    return out


def conversion(draw: Draw) -> Json:
    out: Json = {"strategy": draw.weighted({"Webhook": 6, "None": 1, "Odd": 0.4, "": 0.3})}
    if draw.chance(0.9):
        hook: Json = {}
        if draw.chance(0.9):
            hook["clientConfig"] = client(draw)
        if draw.chance(0.93):
            hook["conversionReviewVersions"] = draw.one(
                (
                    ["v1"],
                    ["v1", "v1beta1"],
                    ["v1beta1"],
                    ["v2"],
                    [],
                    ["v1", "v1"],
                    ["V1", "v1"],
                    ["v1beta2", "v1beta1"],
                    [""],
                )
            )
        out["webhook"] = hook
    return out


CAS = (
    "",
    "eA==",
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmVBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=",
    "!",
    "IA==",
)


def client(draw: Draw) -> Json:
    out: Json = {}
    if draw.chance(0.5):
        out["url"] = draw.one(
            (
                "https://x.dev",
                "http://x.dev",
                "https://u:p@x.dev/y",
                "x",
                "",
                "https://x.dev?a=b#c",
                "https://",
                ":",
                "https://x dev",
                "%zz",
                "https://x.dev:99999/",
                "https://x:y/",
            )
        )
    if draw.chance(0.55):
        out["service"] = {
            k: v
            for k, v in (
                ("name", draw.one(("s", ""))),
                ("namespace", draw.one(("n", ""))),
                ("path", draw.one(("/", "/a", "a", "//", "/a//b", "/A", "", "/a/", "x"))),
                ("port", draw.one((443, 0, 70000, -1))),
            )
            if draw.chance(0.85)
        }
    if draw.chance(0.3):
        out["caBundle"] = draw.one(CAS)
    return out


def generate(draw: Draw) -> Case:
    """One definition."""
    return {"steps": [request("POST", BASE, crd(draw), query={"dryRun": "All"})]}
