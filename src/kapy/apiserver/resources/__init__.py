"""The resources of a server, and how each is written.

`Kind` describes one resource in one version. `builtin` lists Kubernetes' own resources as data,
`custom` derives Kinds from CustomResourceDefinitions, and `Registry` finds them.
"""
