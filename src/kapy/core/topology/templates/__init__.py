"""Templates of workers that go: deleted as soon as no MachineDeployment or MachineSet uses them.

Whoever is made by a topology has a finalizer that holds it until that is done.
"""
