"""Every hook, one module each: its request, its response, and what people are told about it.

A module here that defines a `Hook` is in the catalog; there is no other list.
"""
