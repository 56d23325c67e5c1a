"""Every hook, one module each: its request, its response and its documentation.

A module here that defines a `Hook` is in the catalog; there is no other list.
"""
