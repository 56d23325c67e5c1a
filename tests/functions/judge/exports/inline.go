package inline

// The functions that the judge calls, which are not exported.
var (
	RenderValueTemplate = renderValueTemplate
	PatchIsEnabled      = patchIsEnabled
	CalculateValue      = calculateValue
	MatchesSelector     = matchesSelector
	TemplateData        = calculateTemplateData
)
