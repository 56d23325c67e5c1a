"""OCI registries and layouts as a place for the files of releases.

An artifact holds the files of one version of one provider, one layer each, with the file's name as
its title: the layout that Cluster API Operator publishes and fetches
(`kubectl operator publish`, `fetchConfig.oci`).
"""
