"""OpenAPI v3 of all hooks, to generate extensions in any language.

`document` builds it; `schemas` converts a Struct into a component, `components` names components,
`machinery` has the components of Kubernetes' own types.
"""
