"""What is said about templates when extensions patch or check them
(`topologymutation_types.go`)."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import field

from kapy.hooks.messages.content import RAW_OBJECT, RAW_VALUE
from kapy.hooks.messages.message import Request
from kapy.kube import Document
from kapy.kube.model import Model, rules

MUTATION = ("Topology Mutation Hook",)


class Variable(Model):
    """A variable and its value."""

    name: Annotated[str, rules("The variable's name.", zero="written")]
    value: Annotated[Any, rules("Its value.", of=RAW_VALUE)]


class HolderReference(Model):
    """The object and the field that a template is referred to by."""

    api_version: Annotated[str, rules("The object's API version.", zero="written")]
    kind: Annotated[str, rules("Its kind.", zero="written")]
    namespace: Annotated[str, rules("Its namespace.", zero="written")]
    name: Annotated[str, rules("Its name.", zero="written")]
    field_path: Annotated[str, rules("The path of the field.", zero="written")]


class TemplateItem(Model):
    """A template, who refers to it, and the variables that hold for it alone."""

    holder_reference: Annotated[HolderReference, rules("The field that refers to the template.")]
    object: Annotated[Document, rules("The template.", of=RAW_OBJECT)]
    variables: Annotated[
        list[Variable], rules("Variables that hold for this template, over those for all.")
    ] = field(default_factory=list)


class TemplatesRequest(Request, kw_only=True):
    """A request about all templates of a Cluster."""

    variables: Annotated[list[Variable], rules("Variables that hold for all templates.")] = field(
        default_factory=list
    )
