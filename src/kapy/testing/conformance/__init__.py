"""Whether a provider keeps the contracts of Cluster API.

`rules` is the one table of what the seven contract documents of v1.14 ask of providers. `check`
judges the files of a release by it, in any language's provider and without a cluster;
`run` judges a running one: a `subject` (in process, a program, or elsewhere) on a `ground` (an API
server that hears what it writes), in as many `scene`s as there are checks in `behaviour`, each of
which plays core. The same checks are there for the tests of providers made with `kapy.sdk`.
"""
