module kapy/tests/real/migration/managers

go 1.26.0

tool (
	sigs.k8s.io/cluster-api/bootstrap/kubeadm
	sigs.k8s.io/cluster-api/controlplane/kubeadm
	sigs.k8s.io/cluster-api/core
	sigs.k8s.io/cluster-api/test/infrastructure/docker
)

require (
	sigs.k8s.io/cluster-api v1.14.0
	sigs.k8s.io/cluster-api/api v1.14.0
	sigs.k8s.io/cluster-api/test v1.14.0
)
