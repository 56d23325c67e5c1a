"""Cluster templates: the objects of a workload cluster, and their variables.

Contract: "Workload cluster templates" and "ClusterClass definitions" of the clusterctl provider
contract. `templates.generate` selects the source of a template, `template_of` parses its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kapy.clusterctl.envsubst import Values
from kapy.clusterctl.variables import replace_variables, variables_of
from kapy.kube import Document


class Template(NamedTuple):
    """A cluster template. variables: the default of each variable, None if it must be set. objects:
    the objects in file order.
    """

    variables: Mapping[str, str | None]
    objects: tuple[Document, ...]


def template_of(text: str, values: Values, namespace: str = "", source: str = "") -> Template:
    """Parse the text of a template.

    namespace: the namespace of all objects; "" keeps their own. source: the name of the file in
    errors. Raises BadSubstitution, MissingVariables, BadManifest, ComponentsError.
    """
    from kapy.clusterctl.manifests import objects_of

    variables = variables_of(text)
    documents = objects_of(replace_variables(text, values), source)
    if namespace:
        from kapy.clusterctl.components.namespace import move_to

        for document in documents:
            move_to(document, namespace)
    return Template(variables, tuple(documents))


def template_variables(text: str) -> Template:
    """Return a template with only its variables. Raises BadSubstitution."""
    return Template(variables_of(text), ())


def merge(*templates: Template) -> Template:
    """Concatenate templates; the first default of a variable counts."""
    variables: dict[str, str | None] = {}
    for template in templates:
        for name, default in template.variables.items():
            if variables.get(name) is None:
                variables[name] = default
    value = (obj for template in templates for obj in template.objects)
    return Template({name: variables[name] for name in sorted(variables)}, tuple(value))
