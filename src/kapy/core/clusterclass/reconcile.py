"""One reconcile of a ClusterClass: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster_class import ClusterClass
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.clusterclass.scope import ClassScope, Tools
from kapy.core.clusterclass.status import update_status
from kapy.core.clusterclass.templates import reconcile_templates
from kapy.core.clusterclass.variables import reconcile_variables
from kapy.engine.draft import Draft
from kapy.engine.phases import Phase, run_and_write
from kapy.engine.result import DONE, Result
from kapy.kube import Key

PHASES: Final[tuple[Phase[ClassScope], ...]] = (reconcile_templates, reconcile_variables)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a ClusterClass."""
    document = tools.classes.raw(key)
    if document is None:
        return DONE
    draft = Draft(tools.client, ClusterClass, document)
    cluster_class, now = draft.object, tools.clock()
    set_condition(cluster_class, paused_condition(cluster_class, None), now)
    if is_paused(cluster_class, None) or cluster_class.deleting:
        await draft.save()
        return DONE
    return await run_and_write(PHASES, ClassScope(tools, draft, now), _write)


async def _write(scope: ClassScope, *, failed: bool) -> Result:
    update_status(scope)
    cluster_class = scope.draft.object
    if not failed:
        cluster_class.status.observed_generation = cluster_class.metadata.generation
    await scope.draft.save()
    return DONE
