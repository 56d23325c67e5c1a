module upstream

go 1.26

require (
	sigs.k8s.io/cluster-api v1.14.0
	sigs.k8s.io/cluster-api/api v1.14.0
	sigs.k8s.io/cluster-api/test v1.14.0
)

tool sigs.k8s.io/cluster-api/test/infrastructure/docker
