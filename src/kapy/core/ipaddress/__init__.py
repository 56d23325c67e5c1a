"""IPAddress: an address that an IPAM provider has allocated for a claim.

Core has no controller for addresses; it checks that an address fits its claim.
"""
