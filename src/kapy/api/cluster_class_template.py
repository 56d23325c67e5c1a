"""How a ClusterClass names its templates, and what is made of them."""

from typing import Annotated, ClassVar

from kapy.api.patterns import DNS_SUBDOMAIN, DOMAIN_PATH, KIND
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClusterClassTemplateReference(Model):
    """Names a template in the ClusterClass's namespace."""

    kind: Annotated[str, rules("The template's kind.", min_length=1, max_length=63, pattern=KIND)]
    name: Annotated[
        str, rules("The template's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]
    api_version: Annotated[
        str,
        rules(
            "The API group and version of the template's kind.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]


class ClusterClassTemplate(Model):
    """A template that objects are made of."""

    template_ref: Annotated[ClusterClassTemplateReference, rules("Names the template.")]


class ClassNaming(Model):
    """How the objects that are made of a class are named."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "A Go template of names, with .cluster.name, .random and what the object belongs to.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
