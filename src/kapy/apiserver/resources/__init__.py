"""Which resources a server has, and what is special about each.

`Kind` says how one resource is served in one version; `builtin` lists Kubernetes' own as data;
`custom` makes Kinds from CustomResourceDefinitions; `Registry` finds them.
"""
