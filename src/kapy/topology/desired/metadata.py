"""Labels and annotations that objects inherit from the topology and its class."""

from __future__ import annotations

from typing import Final

from kapy.api.embedded import TemplateMeta
from kapy.api.names import Annotation

_UPGRADE_ORDER_ANNOTATIONS: Final = (
    Annotation.TOPOLOGY_DEFER_UPGRADE,
    Annotation.TOPOLOGY_HOLD_UPGRADE_SEQUENCE,
)


def merge_metadata(topology: TemplateMeta, of_class: TemplateMeta) -> TemplateMeta:
    """Return the metadata of class and topology merged; the topology wins."""
    return TemplateMeta(
        labels={**of_class.labels, **topology.labels},
        annotations={**of_class.annotations, **topology.annotations},
    )


def workers_metadata(
    topology: TemplateMeta, of_class: TemplateMeta, identity: dict[str, str]
) -> TemplateMeta:
    """Return the metadata of a worker group and its machines. identity: the labels that select
    them.

    Annotations that defer or hold the group's upgrade are not copied to its machines.
    """
    meta = merge_metadata(topology, of_class)
    return TemplateMeta(
        labels={**meta.labels, **identity},
        annotations={
            key: value
            for key, value in meta.annotations.items()
            if key not in _UPGRADE_ORDER_ANNOTATIONS
        },
    )
