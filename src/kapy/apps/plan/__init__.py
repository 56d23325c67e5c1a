"""Computes the effects of a change before it is made.

    async with ... : plan = await planned(documents, world, ...)

A management cluster (or files that describe one) is copied into a sandbox. The change is applied
there, and the controllers of managed topologies reconcile it. The result is compared with the
previous objects. The controllers' planners predict which Machines are replaced, and in which steps.
Nothing is written anywhere else.
"""
