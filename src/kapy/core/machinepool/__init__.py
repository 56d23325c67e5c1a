"""MachinePool: machines that an infrastructure provider creates, counts and replaces as a group.

This controller connects bootstrap data and infrastructure, copies the list of machines
(`spec.providerIDList`) and finds their Nodes. If the provider has an object for each machine, it
creates a Machine for each of them, so that they can be drained, checked and deleted one by one; the
provider decides how many there are.
"""
