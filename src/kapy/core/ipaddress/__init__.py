"""IPAddress: an address that an IPAM provider has taken from a pool for a claim.

No controller of core's works on addresses; core checks that an address fits its claim.
"""
