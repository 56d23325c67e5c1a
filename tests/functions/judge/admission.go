package main

import (
	"context"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrap "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment/mdutil"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
)

func judgeObject[T runtime.Object](r record, object, old T, fill func(context.Context, T) error, validator admission.Validator[T]) answer {
	get(r, "object", object)
	_, updated := r["oldObject"]
	if updated {
		get(r, "oldObject", old)
	}
	operation := admissionv1.Create
	if updated {
		operation = admissionv1.Update
	}
	ctx := admission.NewContextWithRequest(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, OldObject: runtime.RawExtension{Raw: r["oldObject"], Object: old},
	}})
	var warnings admission.Warnings
	var err error
	switch text(r, "op") {
	case "default":
		if fill == nil {
			panic(invalid{"no defaulter"})
		}
		if err = fill(ctx, object); err == nil {
			return answer{"out": object}
		}
	case "create":
		warnings, err = validator.ValidateCreate(ctx, object)
	case "update":
		warnings, err = validator.ValidateUpdate(ctx, old, object)
	default:
		panic(invalid{"op"})
	}
	result := answer{}
	if len(warnings) > 0 {
		result["warnings"] = warnings
	}
	if err != nil {
		result["error"] = err.Error()
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			result["status"] = status.Status()
		}
	}
	return result
}

func admissionUnit(r record) answer {
	switch text(r, "kind") {
	case "Machine":
		w := &core.Machine{}
		return judgeObject(r, &clusterv1.Machine{}, &clusterv1.Machine{}, w.Default, w)
	case "MachineSet":
		w := &core.MachineSet{}
		return judgeObject(r, &clusterv1.MachineSet{}, &clusterv1.MachineSet{}, nil, w)
	case "MachineDeployment":
		w := &core.MachineDeployment{}
		return judgeObject(r, &clusterv1.MachineDeployment{}, &clusterv1.MachineDeployment{}, nil, w)
	case "MachinePool":
		w := &core.MachinePool{}
		return judgeObject(r, &clusterv1.MachinePool{}, &clusterv1.MachinePool{}, nil, w)
	case "MachineHealthCheck":
		w := &core.MachineHealthCheck{}
		return judgeObject(r, &clusterv1.MachineHealthCheck{}, &clusterv1.MachineHealthCheck{}, w.Default, w)
	case "ClusterResourceSet":
		w := &core.ClusterResourceSet{}
		return judgeObject(r, &addonsv1.ClusterResourceSet{}, &addonsv1.ClusterResourceSet{}, w.Default, w)
	case "KubeadmConfig":
		w := &bootstrap.KubeadmConfig{}
		return judgeObject(r, &bootstrapv1.KubeadmConfig{}, &bootstrapv1.KubeadmConfig{}, nil, w)
	case "KubeadmConfigTemplate":
		w := &bootstrap.KubeadmConfigTemplate{}
		return judgeObject(r, &bootstrapv1.KubeadmConfigTemplate{}, &bootstrapv1.KubeadmConfigTemplate{}, w.Default, w)
	case "KubeadmControlPlane":
		w := &controlplane.KubeadmControlPlane{}
		return judgeObject(r, &controlplanev1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{}, w.Default, w)
	case "KubeadmControlPlaneTemplate":
		w := &controlplane.KubeadmControlPlaneTemplate{}
		return judgeObject(r, &controlplanev1.KubeadmControlPlaneTemplate{}, &controlplanev1.KubeadmControlPlaneTemplate{}, nil, w)
	}
	panic(invalid{"kind"})
}

func number(r record, name string) (value int32) { get(r, name, &value); return }

func fenceposts(r record) answer {
	var surge, unavailable *intstr.IntOrString
	get(r, "maxSurge", &surge)
	get(r, "maxUnavailable", &unavailable)
	a, b, err := mdutil.ResolveFenceposts(surge, unavailable, number(r, "desired"))
	if err != nil {
		return answer{"error": err.Error()}
	}
	desired := number(r, "desired")
	deployment := clusterv1.MachineDeployment{}
	deployment.Spec.Replicas = &desired
	deployment.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
	deployment.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = surge
	deployment.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = unavailable
	return answer{
		"surge": a, "unavailable": b,
		"MaxSurge": mdutil.MaxSurge(deployment), "MaxUnavailable": mdutil.MaxUnavailable(deployment),
	}
}
