package admission

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The functions that the judge calls, which are not exported.
var (
	ValidateMachineSetNaming        = validateMSMachineNaming
	ValidateMachineDeploymentNaming = validateMDMachineNaming
	ValidateClassNaming             = validateNamingStrategies
)

// The webhooks whose decoder is not exported.
func NewCluster(reader client.Reader, decoder admission.Decoder) *Cluster {
	return &Cluster{Client: reader, decoder: decoder}
}
func NewMachineSet(decoder admission.Decoder) *MachineSet { return &MachineSet{decoder: decoder} }
func NewMachineDeployment(decoder admission.Decoder) *MachineDeployment {
	return &MachineDeployment{decoder: decoder}
}
func NewMachinePool(decoder admission.Decoder) *MachinePool { return &MachinePool{decoder: decoder} }
