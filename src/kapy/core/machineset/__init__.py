"""MachineSet: so many Machines of one template.

This controller creates Machines with their bootstrap configs and infrastructure, under names that
a retry computes again, so that a lost answer never makes a second one; deletes those that are the
most expendable; and changes in place what needs no new Machine.
"""
