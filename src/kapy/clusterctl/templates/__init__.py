"""Cluster templates: the objects of a workload cluster, and the variables that they need.

Contract: "Workload cluster templates" and "ClusterClass definitions" of the clusterctl provider
contract. `templates.generate` chooses where a template comes from, `template_of` reads its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapy.clusterctl.envsubst import Values
from kapy.clusterctl.variables import processed, variables_of
from kapy.kube import Document


class Template(NamedTuple):
    """variables: the default of each, None where it has to be set. objects: in their order."""

    variables: Mapping[str, str | None]
    objects: tuple[Document, ...]


def template_of(text: str, values: Values, namespace: str = "", source: str = "") -> Template:
    """What a template's text means.

    namespace: where all objects go; "" leaves them where they are. source: what the file is
    called in errors. Raises BadSubstitution, MissingVariables, BadManifest, ComponentsError.
    """
    from kapy.clusterctl.manifests import objects_of

    variables = variables_of(text)
    documents = objects_of(processed(text, values), source)
    if namespace:
        from kapy.clusterctl.components.namespace import move_to

        for document in documents:
            move_to(document, namespace)
    return Template(variables, tuple(documents))


def listed(text: str) -> Template:
    """Only the variables of a template. Raises BadSubstitution."""
    return Template(variables_of(text), ())


def merged(*templates: Template) -> Template:
    """Templates one after the other; a variable's default is the first one that there is."""
    variables: dict[str, str | None] = {}
    for template in templates:
        for name, default in template.variables.items():
            if variables.get(name) is None:
                variables[name] = default
    every = (one for template in templates for one in template.objects)
    return Template({name: variables[name] for name in sorted(variables)}, tuple(every))
