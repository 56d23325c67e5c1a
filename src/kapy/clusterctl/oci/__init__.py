"""Release files in OCI registries and layouts.

An artifact holds the files of one provider version: one layer for each file, with the file name as
its title. Cluster API Operator publishes and fetches this layout (`kubectl operator publish`,
`fetchConfig.oci`).
"""
