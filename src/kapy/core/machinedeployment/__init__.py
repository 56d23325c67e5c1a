"""MachineDeployment: Machines with a changeable template, replaced within a budget.

This controller keeps one MachineSet per template and moves replicas from the old to the new one.
Pure functions plan the moves (`rollout`, `strategies`) as upstream does in every recorded case;
`reconcile` executes the plan.
"""
