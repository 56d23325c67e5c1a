"""The template parts of requests that patch or validate them (`topologymutation_types.go`)."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from kapy.hooks.messages.content import RAW_OBJECT, RAW_VALUE
from kapy.hooks.messages.message import Request
from kapy.kube import Document
from kapy.kube.model import Model, rules

MUTATION = ("Topology Mutation Hook",)


class Variable(Model):
    """Variable is the value of one variable."""

    name: Annotated[str, rules("name is the name of the variable.", zero="written")]
    value: Annotated[Any, rules("value is the value of the variable in JSON.", of=RAW_VALUE)]


class HolderReference(Model):
    """HolderReference is a reference to the object and the field that refer to a template."""

    api_version: Annotated[
        str, rules("apiVersion is the API group and version of the object.", zero="written")
    ]
    kind: Annotated[str, rules("kind is the kind of the object.", zero="written")]
    namespace: Annotated[str, rules("namespace is the namespace of the object.", zero="written")]
    name: Annotated[str, rules("name is the name of the object.", zero="written")]
    field_path: Annotated[
        str,
        rules("fieldPath is the path of the field that refers to the template.", zero="written"),
    ]


class TemplateItem(Model):
    """TemplateItem is a template together with its use and its variables."""

    holder_reference: Annotated[
        HolderReference,
        rules(
            "holderReference is a reference to the object and the field that refer to the template."
        ),
    ]
    object: Annotated[Document, rules("object is the template.", of=RAW_OBJECT)]
    variables: Annotated[
        list[Variable],
        rules(
            "variables are the values of variables for this template. They take precedence "
            "over those of the request."
        ),
    ] = field(default_factory=list)


class TemplatesRequest(Request, kw_only=True):
    """TemplatesRequest is a request about all templates of a Cluster."""

    variables: Annotated[
        list[Variable], rules("variables are the values of variables for all templates.")
    ] = field(default_factory=list)
