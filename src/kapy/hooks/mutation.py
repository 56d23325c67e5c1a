"""Patch and validate the templates of a cluster: mutable documents, typed variables.

    @extension.handles(GENERATE_PATCHES, name="registry")
    async def registry(request: GeneratePatchesRequest) -> GeneratePatchesResponse:
        return patch_templates(request, mirror)

    def mirror(template: Template) -> None:
        if template.is_a("infrastructure.cluster.x-k8s.io", "DevMachineTemplate"):
            url = template.variables.require("registry", str)
            template.spec.setdefault("backend", {})["registry"] = url

Changes of `template.object` become a patch; the same request always gives the same patch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from kapy.hooks.builtins import Builtins
from kapy.hooks.errors import HookFailed
from kapy.hooks.messages.topology_mutation import (
    GeneratePatchesRequest,
    GeneratePatchesResponse,
    GeneratePatchesResponseItem,
    HolderReference,
    TemplateItem,
    ValidateTopologyRequest,
    Variable,
)
from kapy.kube import Document
from kapy.kube.names import split_api_version
from kapy.kube.patch import merge_patch
from kapy.kube.renamed import renamed_function

_BUILTIN: Final = "builtin"
T = TypeVar("T")


class Variables:
    """The variables of one template: its own override the shared ones."""

    def __init__(self, own: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
        self._own = own
        self._shared = shared

    def __contains__(self, name: str) -> bool:
        return name in self._own or name in self._shared

    def get(self, name: str, kind: type[T], default: T) -> T:
        """Return a variable's value, or the default. Raises HookFailed if it is no `kind`."""
        return self.require(name, kind) if name in self else default

    def require(self, name: str, kind: type[T]) -> T:
        """Return a variable's value. Raises HookFailed if it is not set, or is no `kind`.

        kind: `str`, `int`, `bool`, `list[str]` … or a Struct.
        """
        if name not in self:
            raise HookFailed(f'the variable "{name}" is needed and has no value')
        try:
            return msgspec.convert(self._value(name), kind)
        except msgspec.ValidationError as error:
            raise HookFailed(f'the variable "{name}" cannot be used: {error}') from None

    @property
    def builtin(self) -> Builtins:
        """The builtin variables of the cluster."""
        return self.get(_BUILTIN, Builtins, Builtins())

    def _value(self, name: str) -> Any:
        if name == _BUILTIN and name in self._own and name in self._shared:
            return merge_patch.apply(self._shared[name], self._own[name])
        return self._own[name] if name in self._own else self._shared[name]


class Template:
    """A template, the reference to it, and its variables."""

    __slots__ = ("_copy", "_given", "holder", "variables")

    def __init__(self, document: Document, holder: HolderReference, variables: Variables) -> None:
        self._given = document
        self._copy: Document | None = None
        self.holder = holder
        self.variables = variables

    @property
    def object(self) -> Document:
        """The template as a private copy, to be changed in place."""
        if self._copy is None:
            self._copy = msgspec.to_builtins(self._given)
        return self._copy

    @property
    def changes(self) -> Document:
        """The changes so far, as a JSON merge patch."""
        return {} if self._copy is None else merge_patch.difference(self._given, self._copy)

    @property
    def spec(self) -> Document:
        """`spec.template.spec` of a template kind, `spec` of any other kind."""
        spec: Document = self.object.setdefault("spec", {})
        if not str(self.object.get("kind", "")).endswith("Template") and "template" not in spec:
            return spec
        result: Document = spec.setdefault("template", {}).setdefault("spec", {})
        return result

    def is_a(self, group: str, kind: str) -> bool:
        """Return whether the template is of a kind, in any version."""
        of = split_api_version(self._given.get("apiVersion", ""))[0]
        return (of, self._given.get("kind")) == (group, kind)

    def is_held_by(self, kind: str, field_path: str = "") -> bool:
        """Return whether an object of a kind refers to the template, optionally in that field."""
        return self.holder.kind == kind and field_path in ("", self.holder.field_path)


def patch_templates(
    request: GeneratePatchesRequest, change: Callable[[Template], None]
) -> GeneratePatchesResponse:
    """Call a function with each template; return its changes as the response. HookFailed is raised
    through.
    """
    items = []
    shared = _by_name(request.variables)
    for item in request.templates:
        template = _template(item, shared)
        change(template)
        if changes := template.changes:
            items.append(GeneratePatchesResponseItem.merge_patch(item.uid, changes))
    return GeneratePatchesResponse(items=items)


patched = renamed_function(patch_templates, "patched")


def templates(request: ValidateTopologyRequest | GeneratePatchesRequest) -> Iterator[Template]:
    """Yield all templates of a request, for validation."""
    shared = _by_name(request.variables)
    for item in request.templates:
        yield _template(item, shared)


def _template(item: TemplateItem, shared: Mapping[str, Any]) -> Template:
    variables = Variables(_by_name(item.variables), shared)
    return Template(item.object, item.holder_reference, variables)


def _by_name(variables: Iterable[Variable]) -> dict[str, Any]:
    return {variable.name: variable.value for variable in variables}
