"""MachineSet: a number of Machines from one template.

This controller creates Machines with their bootstrap configs and infrastructure under deterministic
names, so that a lost response never causes a second Machine. It deletes Machines by priority, and
updates in place the fields that need no new Machine.
"""
