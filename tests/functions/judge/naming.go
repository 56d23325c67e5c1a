package main

import (
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	controlplane "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	core "sigs.k8s.io/cluster-api/core/webhooks/admission"
	topologynames "sigs.k8s.io/cluster-api/internal/topology/names"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/cluster-api/util/secret"
)

func crdName(r record) answer {
	return answer{"crd": contract.CalculateCRDName(text(r, "group"), text(r, "kind"))}
}

func secretName(r record) answer {
	result := answer{"parseError": nil}
	name := text(r, "name")
	if purpose := text(r, "purpose"); purpose != "" {
		name = secret.Name(text(r, "cluster"), secret.Purpose(purpose))
	}
	result["name"] = name
	cluster, purpose, err := secret.ParseSecretName(name)
	if err != nil {
		result["parseError"] = err.Error()
	}
	result["parsedCluster"], result["parsedPurpose"] = cluster, purpose
	result["hasPurposeSuffix"] = secret.HasPurposeSuffix(name)
	return result
}

func generateName(r record) answer {
	template, cluster, name := text(r, "template"), text(r, "cluster"), text(r, "name")
	utilrand.Seed(7)
	draws := []string{utilrand.String(5), utilrand.String(5)}
	utilrand.Seed(7)
	var generator topologynames.NameGenerator
	switch text(r, "generator") {
	case "simple":
		generator = topologynames.SimpleNameGenerator(template)
	case "controlPlane":
		generator = topologynames.ControlPlaneNameGenerator(template, cluster)
	case "infraCluster":
		generator = topologynames.InfraClusterNameGenerator(template, cluster)
	case "machineDeployment":
		generator = topologynames.MachineDeploymentNameGenerator(template, cluster, name)
	case "machinePool":
		generator = topologynames.MachinePoolNameGenerator(template, cluster, name)
	case "kcpMachine":
		generator = topologynames.KCPMachineNameGenerator(template, cluster, name)
	case "machineSetMachine":
		generator = topologynames.MachineSetMachineNameGenerator(template, cluster, name)
	default:
		panic(invalid{"generator"})
	}
	out, err := generator.GenerateName()
	if err != nil {
		return answer{"random": draws, "error": err.Error()}
	}
	return answer{"random": draws, "out": out}
}

func validateNaming(r record) answer {
	template := text(r, "template")
	path := field.NewPath("spec", "machineNaming")
	var list field.ErrorList
	class := &clusterv1.ClusterClass{}
	switch text(r, "kind") {
	case "MachineSet":
		list = core.ValidateMachineSetNaming(clusterv1.MachineNamingSpec{Template: template}, path)
	case "MachineDeployment":
		list = core.ValidateMachineDeploymentNaming(clusterv1.MachineNamingSpec{Template: template}, path)
	case "KubeadmControlPlane":
		list = controlplane.ValidateNaming(controlplanev1.MachineNamingSpec{Template: template}, path)
	case "ClusterClass.infrastructure":
		class.Spec.Infrastructure.Naming.Template = template
	case "ClusterClass.controlPlane":
		class.Spec.ControlPlane.Naming.Template = template
	case "ClusterClass.machineDeployments[0]":
		class.Spec.Workers.MachineDeployments = []clusterv1.MachineDeploymentClass{{
			Class: "c", Naming: clusterv1.MachineDeploymentClassNamingSpec{Template: template},
		}}
	case "ClusterClass.machinePools[0]":
		class.Spec.Workers.MachinePools = []clusterv1.MachinePoolClass{{
			Class: "c", Naming: clusterv1.MachinePoolClassNamingSpec{Template: template},
		}}
	default:
		panic(invalid{"kind"})
	}
	return answer{"errors": errorsOf(append(list, core.ValidateClassNaming(class)...))}
}
