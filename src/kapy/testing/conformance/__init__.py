"""Whether a provider keeps the contracts of Cluster API.

`rules` is the one table of what the seven contract documents of v1.14 ask of providers. `check`
judges the files of a release by it, in any language's provider and without a cluster;
`behaviour` has checks of behaviour for the tests of providers that are made with `kapy.sdk`.
"""
