"""MachinePool: machines that an infrastructure provider makes, counts and replaces as a group.

This controller hands boot data and infrastructure to each other, takes over which machines the
provider has made (`spec.providerIDList`) and finds their Nodes. Where the provider has an object
for each machine, it makes a Machine for each of them, so that they can be drained, checked and
deleted one by one; how many there are stays the provider's business.
"""
