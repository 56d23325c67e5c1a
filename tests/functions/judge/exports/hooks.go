package client

// The functions that the judge calls, which are not exported.
var (
	AggregateResponses = aggregateSuccessfulResponses
	AddressOf          = urlForExtension
	CheckDiscovery     = defaultAndValidateDiscoveryResponse
)
