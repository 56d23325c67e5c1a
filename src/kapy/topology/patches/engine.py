"""Applies all patches of a ClusterClass, inline and external, in order.

Each patch sees the templates as the patches before it left them. The results are put into the
desired state together, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapy.api.cluster_class_patches import ClusterClassPatch, ExternalPatchDefinition
from kapy.api.validation.cluster_class_patches import INLINE
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.patch import merge_patch, strict_json_patch
from kapy.kube.patch.strict_json_patch import BadPatch, Operation
from kapy.topology.blueprint import Blueprint
from kapy.topology.builtins import cluster_builtins
from kapy.topology.patches.causes import Cause, causes_of
from kapy.topology.patches.errors import CannotPatch, NoValue
from kapy.topology.patches.external import (
    ExternalPatches,
    MergePatch,
    generate_request,
    patches_in,
    validate_request,
)
from kapy.topology.patches.fields import PATCHED, CannotSetField, copy_fields
from kapy.topology.patches.inline import GeneratedPatch, InlinePatch, inline_patches
from kapy.topology.patches.item import Item
from kapy.topology.patches.rendering import LongTemplate, Rendering
from kapy.topology.patches.template_uses import Use, uses_of
from kapy.topology.patches.values import SourceValues, defined_by
from kapy.topology.state import ClusterState


async def apply_patches(
    blueprint: Blueprint,
    desired: ClusterState,
    *,
    external: ExternalPatches | None = None,
    causes: list[Cause] | None = None,
) -> None:
    """Apply the patches of the class to a desired state.

    Objects in `desired` are replaced, never changed in place. external: calls extensions; without
    it, external patches fail. causes: if given, receives what each patch changed. Raises
    CannotPatch; then nothing is replaced.
    """
    cluster_class = blueprint.cluster_class
    if not cluster_class.spec.patches:
        return
    try:
        walk = _PatchRun(blueprint, desired, external, record_causes=causes is not None)
        for patch in cluster_class.spec.patches:
            await walk.step(patch)
        for patch in cluster_class.spec.patches:
            await walk.check(patch)
        results = [(use.place, use.place.update(use.item.document)) for use in walk.uses]
    except KapyError as error:
        name = f"{cluster_class.metadata.namespace}/{cluster_class.metadata.name}"
        raise CannotPatch(f"ClusterClass {name}: {error}") from error
    for place, document in results:
        setattr(place.owner, place.attribute, document)
    if causes is not None:
        causes += walk.causes


class _PatchRun:
    def __init__(
        self,
        blueprint: Blueprint,
        desired: ClusterState,
        external: ExternalPatches | None,
        *,
        record_causes: bool,
    ) -> None:
        """Prepare the patches of a class. record_causes: record the causes of changes."""
        self.uses = uses_of(blueprint, desired)
        self._by_item = {id(use.item): use for use in self.uses}
        self._class = blueprint.cluster_class
        self._topology = blueprint.topology
        self._cluster = desired.cluster
        self._builtins = cluster_builtins(desired.cluster)
        self._inline = inline_patches(blueprint.cluster_class.spec.patches)
        self._external = external
        self.causes: list[Cause] = []
        self._tell = record_causes
        self._seen: dict[str, SourceValues] = {}
        self._rendering = Rendering()

    async def step(self, patch: ClusterClassPatch) -> None:
        """Apply one patch to all templates. Raises KapyError, which names the patch."""
        try:
            if patch.definitions:
                await self._apply_inline(self._inline[patch.name])
            elif patch.external is not None and patch.external.generate_patches_extension:
                await self._apply_external(patch.name, patch.external)
        except KapyError as error:
            raise CannotPatch(f'patch "{patch.name}": {error}') from error

    async def _apply_inline(self, patch: InlinePatch) -> None:
        variables = self._variables(INLINE)
        generated = await self._generate_all(patch, variables)
        for use, generated_patch in generated:
            try:
                use.item.document = apply_patch(use.item.document, generated_patch.operations)
            except (BadPatch, CannotSetField) as error:
                raise BadPatch(
                    f"{use.item}: definitions[{generated_patch.definition}], {error}"
                ) from None
            if self._tell:
                change = generated_patch.operations
                self.causes += causes_of(
                    use, patch.name, change, generated_patch.definition, generated_patch.sources
                )

    async def _generate_all(
        self, patch: InlinePatch, variables: SourceValues
    ) -> list[tuple[Use, GeneratedPatch]]:
        """Return the JSON patches of one patch for all templates. Raises NoValue with all
        errors.
        """
        result: list[tuple[Use, GeneratedPatch]] = []
        problems: dict[str, None] = {}
        for use in self.uses:
            try:
                result += [
                    (use, generated_patch)
                    for generated_patch in await _generate(patch, use, variables)
                ]
            except (NoValue, BadPatch) as error:
                problems[f"{use.item}: {error}"] = None
            await self._rendering.pause()
        if problems:
            raise NoValue("; ".join(problems))
        return result

    async def _apply_external(self, name: str, patch: ExternalPatchDefinition) -> None:
        hooks = self._hooks(name)
        variables = self._variables(name)
        request = generate_request(self._items(variables), variables.cluster, patch.settings)
        extension = patch.generate_patches_extension
        response = await hooks.generate(extension, self._cluster, request)
        for item, change in patches_in(response, [use.item for use in self.uses]):
            try:
                item.document = apply_patch(item.document, change)
            except (BadPatch, CannotSetField) as error:
                raise BadPatch(f"{item}: extension {extension}, {error}") from None
            if self._tell:
                self.causes += causes_of(self._by_item[id(item)], name, change)

    async def check(self, patch: ClusterClassPatch) -> None:
        """Call the extension that validates the result, if there is one. Raises KapyError, which
        names the patch."""
        external = patch.external
        if external is None or not external.validate_topology_extension:
            return
        last = self._class.spec.patches[-1]
        variables = self._variables(_source(last))
        request = validate_request(self._items(variables), variables.cluster, external.settings)
        hooks = self._hooks(patch.name)
        try:
            await hooks.validate(external.validate_topology_extension, self._cluster, request)
        except KapyError as error:
            raise CannotPatch(f'validation of patch "{patch.name}": {error}') from error

    def _hooks(self, patch: str) -> ExternalPatches:
        if self._external is None:
            raise CannotPatch(
                f'cannot use external patch "{patch}" while the feature gate RuntimeSDK is off'
            )
        return self._external

    def _items(self, variables: SourceValues) -> Iterator[tuple[Item, Document]]:
        return ((use.item, variables.of(use.part).own) for use in self.uses)

    def _variables(self, source: str) -> SourceValues:
        """Return the variables that patches of one source see; they are the same for all
        templates.
        """
        source_values = self._seen.get(source)
        if source_values is None:
            defined = defined_by(self._class, source)
            source_values = self._seen[source] = SourceValues(
                self._topology.variables, self._builtins, defined, self._rendering
            )
        return source_values


def _source(patch: ClusterClassPatch) -> str:
    """Return the source that defines the variables of a patch."""
    return INLINE if patch.external is None else patch.name


async def _generate(patch: InlinePatch, use: Use, variables: SourceValues) -> list[GeneratedPatch]:
    """Return the JSON patches of one patch for one template; slow templates are rendered outside
    the event loop.
    """
    values = variables.of(use.part)
    while True:
        try:
            return list(patch.generate(use.item, values))
        except LongTemplate as long:
            await long.render()


def apply_patch(template: Document, change: Sequence[Operation] | MergePatch) -> Document:
    """Return a template after a patch: only its spec, labels and annotations may change.

    Raises BadPatch if the patch does not apply, CannotSetField if its result cannot be taken over.
    """
    if isinstance(change, MergePatch):
        after = merge_patch.apply(template, change.patch) if change.patch != {} else template
    else:
        after = strict_json_patch.apply(template, change)
    if after is template:
        return template
    if not isinstance(after, dict) or not _is_typed(after):
        raise BadPatch("the result is no object with a kind and an apiVersion")
    return copy_fields(template, after, PATCHED)


def _is_typed(document: Document) -> bool:
    kind, version = document.get("kind"), document.get("apiVersion") or ""
    return bool(kind) and isinstance(kind, str) and isinstance(version, str)
