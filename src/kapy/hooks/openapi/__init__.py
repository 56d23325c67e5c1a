"""OpenAPI v3 of all hooks: what extensions in any language are generated from.

`document` makes it; `schemas` says how a Struct becomes a component, `components` what components
are called, `machinery` has Kubernetes' own ones.
"""
