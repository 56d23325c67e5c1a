"""MachineSet: a number of Machines from one template.

This controller creates Machines with their bootstrap configs and infrastructure under deterministic
names, so that a lost answer never causes a second one; deletes Machines by priority; and updates in
place what needs no new Machine.
"""
