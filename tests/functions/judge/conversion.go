package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	core "sigs.k8s.io/cluster-api/core/webhooks/conversion"
)

var converters = map[string]func(*runtime.Scheme) (conversion.Converter, error){
	"Cluster":                     core.Cluster,
	"ClusterClass":                core.ClusterClass,
	"ClusterResourceSet":          core.ClusterResourceSet,
	"ClusterResourceSetBinding":   core.ClusterResourceSetBinding,
	"ExtensionConfig":             core.ExtensionConfig,
	"IPAddress":                   core.IPAddress,
	"IPAddressClaim":              core.IPAddressClaim,
	"KubeadmConfig":               bootstrap.KubeadmConfig,
	"KubeadmConfigTemplate":       bootstrap.KubeadmConfigTemplate,
	"KubeadmControlPlane":         controlplane.KubeadmControlPlane,
	"KubeadmControlPlaneTemplate": controlplane.KubeadmControlPlaneTemplate,
	"Machine":                     core.Machine,
	"MachineDeployment":           core.MachineDeployment,
	"MachineDrainRule":            core.MachineDrainRule,
	"MachineHealthCheck":          core.MachineHealthCheck,
	"MachinePool":                 core.MachinePool,
	"MachineSet":                  core.MachineSet,
}

var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		addonsv1beta1.AddToScheme, addonsv1.AddToScheme, bootstrapv1beta1.AddToScheme, bootstrapv1.AddToScheme,
		controlplanev1beta1.AddToScheme, controlplanev1.AddToScheme, clusterv1beta1.AddToScheme, clusterv1.AddToScheme,
		ipamv1alpha1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1.AddToScheme, runtimev1alpha1.AddToScheme, runtimev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	core.SetAPIVersionGetter(versionOf)
	controlplane.SetAPIVersionGetter(versionOf)
}

var versions = map[string]string{
	"KubeadmControlPlane.controlplane.cluster.x-k8s.io":    "v1beta4",
	"AWSManagedControlPlane.controlplane.cluster.x-k8s.io": "v1beta7",
	"DockerCluster.infrastructure.cluster.x-k8s.io":        "v1beta3",
	"AWSCluster.infrastructure.cluster.x-k8s.io":           "v1beta6",
}

func versionOf(_ context.Context, kind schema.GroupKind) (string, error) {
	if version, ok := versions[kind.String()]; ok {
		return schema.GroupVersion{Group: kind.Group, Version: version}.String(), nil
	}
	return "", errors.New("failed to map GroupKind " + kind.String() + " to version")
}

// convert answers what it has read, too: Go drops fields that it does not know.
func convert(r record) answer {
	kind := text(r, "kind")
	make, ok := converters[kind]
	if !ok {
		panic(invalid{"kind"})
	}
	converter, err := make(scheme)
	if err != nil {
		panic(err)
	}
	source, target := schema.FromAPIVersionAndKind(text(r, "from"), kind), schema.FromAPIVersionAndKind(text(r, "to"), kind)
	in, err := scheme.New(source)
	if err != nil {
		panic(invalid{err.Error()})
	}
	get(r, "in", in)
	out, err := scheme.New(target)
	if err != nil {
		panic(invalid{err.Error()})
	}
	in.GetObjectKind().SetGroupVersionKind(source)
	given := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(target)
	if err := converter.ConvertObject(context.Background(), in, out); err != nil {
		return answer{"in": given, "error": err.Error()}
	}
	return answer{"in": given, "out": out}
}
