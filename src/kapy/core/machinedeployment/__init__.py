"""MachineDeployment: Machines of a template that may change, replaced within a budget.

This controller keeps one MachineSet per template and moves replicas from the old to the new one.
What moves when is planned by pure functions (`rollout`, `rolling_update`, `on_delete`), equal to
upstream's in every recorded case; `reconcile` carries the plan out.
"""
