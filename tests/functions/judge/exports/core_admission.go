package admission

// The functions that the judge calls, which are not exported.
var (
	ValidateMachineSetNaming        = validateMSMachineNaming
	ValidateMachineDeploymentNaming = validateMDMachineNaming
	ValidateClassNaming             = validateNamingStrategies
)
