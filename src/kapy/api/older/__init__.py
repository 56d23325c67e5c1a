"""Older API versions, derived from the newest one by declared differences.

Modules of `kapy.api.v1beta1` and `kapy.api.v1alpha1` declare how a Struct of the newest version
differs in an older one (`difference`); `derivation` builds the Structs of the older version from
that. A Struct without a declaration is the same in both versions, and so is each of its fields that
a declaration does not name.
"""
