"""Delete templates of workers once no MachineDeployment or MachineSet uses them.

A finalizer on objects of a topology holds them until that is done.
"""
