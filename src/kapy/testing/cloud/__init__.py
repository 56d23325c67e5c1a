"""A cloud that does not exist, for those who learn and test: networks and servers over HTTP.

    python -m kapy.testing.cloud

Its servers run nothing, but they start as real ones do: of an image with a version of Kubernetes,
and by cloud-init data that they read. A server whose data runs `kubeadm init` brings up an API
server. One whose data runs `kubeadm join` registers a Node there, with the name and the provider ID
of the data.
The API servers are those of kapy's in-memory provider, in this process, and are reached over TLS.
"""
