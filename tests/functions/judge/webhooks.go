package main

import (
	"context"
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/feature"
)

// reader reads the ClusterClasses and Clusters of the environment. All else does not exist.
type reader struct{}

var classes = map[client.ObjectKey]*clusterv1.ClusterClass{}
var clusters []clusterv1.Cluster

func (reader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if class, ok := into.(*clusterv1.ClusterClass); ok {
		if known, ok := classes[key]; ok {
			known.DeepCopyInto(class)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "clusterclasses"}, key.Name)
}

func (reader) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	list, ok := into.(*clusterv1.ClusterList)
	if !ok {
		return nil
	}
	selected := client.ListOptions{}
	selected.ApplyOptions(options)
	wanted := ""
	if selected.FieldSelector != nil {
		for _, requirement := range selected.FieldSelector.Requirements() {
			wanted = requirement.Value
		}
	}
	for _, cluster := range clusters {
		key := cluster.GetClassKey()
		here := selected.Namespace == "" || selected.Namespace == cluster.Namespace
		if here && (wanted == "" || wanted == key.String() || wanted == key.Name) {
			list.Items = append(list.Items, cluster)
		}
	}
	return nil
}

// environment keeps the objects that webhooks read.
func environment(r record) answer {
	if err := feature.MutableGates.Set("ClusterTopology=true,RuntimeSDK=true,MachinePool=true"); err != nil {
		panic(err)
	}
	var objects []json.RawMessage
	get(r, "objects", &objects)
	for _, raw := range objects {
		var kind struct{ Kind string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			panic(invalid{err.Error()})
		}
		switch kind.Kind {
		case "ClusterClass":
			class := &clusterv1.ClusterClass{}
			get(record{"object": raw}, "object", class)
			classes[client.ObjectKeyFromObject(class)] = class
		case "Cluster":
			cluster := clusterv1.Cluster{}
			get(record{"object": raw}, "object", &cluster)
			clusters = append(clusters, cluster)
		}
	}
	return answer{}
}

// judgeRequest answers as an API server with these webhooks does, after the schema.
func judgeRequest[T runtime.Object](r record, object, old T, fill func(context.Context, T) error, validator admission.Validator[T]) answer {
	get(r, "new", object)
	operation := admissionv1.Operation(text(r, "operation"))
	request := admissionv1.AdmissionRequest{Operation: operation}
	if operation == admissionv1.Update {
		get(r, "old", old)
		request.OldObject = runtime.RawExtension{Raw: r["old"]}
	}
	ctx := admission.NewContextWithRequest(context.Background(), admission.Request{AdmissionRequest: request})
	var err error
	if fill != nil {
		err = fill(ctx, object)
	}
	if err == nil && operation == admissionv1.Update {
		_, err = validator.ValidateUpdate(ctx, old, object)
	} else if err == nil {
		_, err = validator.ValidateCreate(ctx, object)
	}
	if err == nil {
		return answer{"allowed": true}
	}
	result := answer{"allowed": false, "message": err.Error(), "causes": nil}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		result["causes"] = status.Status().Details.Causes
	}
	return result
}

func webhook(r record) answer {
	decoder := admission.NewDecoder(scheme)
	switch text(r, "kind") {
	case "Cluster":
		w := core.NewCluster(reader{}, decoder)
		return judgeRequest(r, &clusterv1.Cluster{}, &clusterv1.Cluster{}, w.Default, w)
	case "ClusterClass":
		w := &core.ClusterClass{Client: reader{}}
		return judgeRequest(r, &clusterv1.ClusterClass{}, &clusterv1.ClusterClass{}, nil, w)
	case "Machine":
		w := &core.Machine{}
		return judgeRequest(r, &clusterv1.Machine{}, &clusterv1.Machine{}, w.Default, w)
	case "MachineSet":
		w := core.NewMachineSet(decoder)
		return judgeRequest(r, &clusterv1.MachineSet{}, &clusterv1.MachineSet{}, w.Default, w)
	case "MachineDeployment":
		w := core.NewMachineDeployment(decoder)
		return judgeRequest(r, &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{}, w.Default, w)
	case "MachinePool":
		w := core.NewMachinePool(decoder)
		return judgeRequest(r, &clusterv1.MachinePool{}, &clusterv1.MachinePool{}, w.Default, w)
	case "MachineHealthCheck":
		w := &core.MachineHealthCheck{}
		return judgeRequest(r, &clusterv1.MachineHealthCheck{}, &clusterv1.MachineHealthCheck{}, w.Default, w)
	case "MachineDrainRule":
		w := &core.MachineDrainRule{}
		return judgeRequest(r, &clusterv1.MachineDrainRule{}, &clusterv1.MachineDrainRule{}, nil, w)
	case "ClusterResourceSet":
		w := &core.ClusterResourceSet{}
		return judgeRequest(r, &addonsv1.ClusterResourceSet{}, &addonsv1.ClusterResourceSet{}, w.Default, w)
	case "KubeadmConfig":
		w := &bootstrap.KubeadmConfig{}
		return judgeRequest(r, &bootstrapv1.KubeadmConfig{}, &bootstrapv1.KubeadmConfig{}, nil, w)
	case "KubeadmControlPlane":
		w := &controlplane.KubeadmControlPlane{}
		return judgeRequest(r, &controlplanev1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{}, w.Default, w)
	}
	panic(invalid{"kind"})
}
