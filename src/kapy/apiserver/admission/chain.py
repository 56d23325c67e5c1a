"""The admission plug-ins of one server, in order: those in process, then the webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapy.apiserver.admission.equivalent import Converter, Equivalent
from kapy.apiserver.admission.plugin import Admission
from kapy.apiserver.resources.kind import Kind


class AdmissionChain:
    """The plug-ins of one server, selected by kind and subresource.

    convert: converts objects for plug-ins that handle another version of their kind.
    has_webhooks: whether admission webhooks are configured. by_resource: the selected plug-ins.
    """

    __slots__ = ("_convert", "_in_process", "_webhooks", "by_resource", "has_webhooks")

    def __init__(self, in_process: Sequence[Admission], convert: Converter) -> None:
        self._in_process = tuple(in_process)
        self._convert = convert
        self._webhooks: Admission | None = None
        self.has_webhooks = False
        self.by_resource: dict[tuple[Kind, str], tuple[Admission, ...]] = {}

    def set_webhooks(self, webhooks: Admission | None) -> None:
        """Replace the webhooks, the last plug-in of the chain. None: there are none."""
        self._webhooks = webhooks
        self.has_webhooks = webhooks is not None
        self.by_resource.clear()

    def reset(self) -> None:
        """Select the plug-ins again, because the served kinds have changed."""
        self.by_resource.clear()

    def plugins(self, kind: Kind, subresource: str) -> tuple[Admission, ...]:
        """Return the plug-ins that handle writes of a resource."""
        if not self._in_process and self._webhooks is None:
            return ()
        key = (kind, subresource)
        selected = self.by_resource.get(key)
        if selected is None:
            selected = self.by_resource[key] = tuple(self._select(kind, subresource))
        return selected

    def _select(self, kind: Kind, subresource: str) -> Iterator[Admission]:
        for plugin in self._in_process:
            if plugin.handles(kind.resource, subresource):
                yield plugin
            elif kind.storage != kind.resource and plugin.handles(kind.storage, subresource):
                yield Equivalent(plugin, kind.storage, self._convert)
        webhooks = self._webhooks  # webhooks select versions themselves
        if webhooks is not None and webhooks.handles(kind.resource, subresource):
            yield webhooks
