module kapy.test/network

go 1.26.0

require (
	github.com/vishvananda/netlink v1.3.1
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
)
