"""Check whether a provider keeps the contracts of Cluster API.

`rules` is the table of what the seven contract documents of v1.14 require of providers. `check`
applies it to the files of a release, without a cluster and for providers in any language. `run`
applies it to a running provider: a `provider_under_test` (in process, a program, or on a remote
cluster) in an `environment` (an API server that records its writes). Each check of `behaviour` gets
a `fixture`, in which it stands in for the core controllers. Tests of providers that use `kapy.sdk`
can run the same checks.
"""
