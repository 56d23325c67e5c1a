"""The reconciler of ClusterClasses."""

from __future__ import annotations

from kapy.api.cluster_class import ClusterClass
from kapy.conditions.change import set_condition
from kapy.conditions.paused import paused_condition, report_pause
from kapy.core.clusterclass.scope import ClassScope, Dependencies
from kapy.core.clusterclass.status import update_status
from kapy.core.clusterclass.templates import reconcile_templates
from kapy.core.clusterclass.variables import reconcile_variables
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result


class ClusterClassReconciler(Reconciler[ClusterClass, ClassScope]):
    """Reconciles ClusterClasses in phases: the ownership of their templates, and their
    variables.
    """

    normal = (reconcile_templates, reconcile_variables)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(ClusterClass, dependencies.classes, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ClusterClass]) -> ClassScope:
        return ClassScope(self.dependencies, draft, self.dependencies.clock())

    def pause(self, scope: ClassScope) -> bool:
        return report_pause(scope.cluster_class, None, scope.now)

    def set_status(self, scope: ClassScope) -> Result:
        cluster_class = scope.cluster_class
        set_condition(cluster_class, paused_condition(cluster_class, None), scope.now)
        if not cluster_class.deleting:
            update_status(scope)
        return DONE
