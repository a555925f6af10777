package scenario

import "apfsim/sim/quantity"

// Names of what has moved to packages of its own, until their users have followed.
type (
	Duration     = quantity.Duration
	Rate         = quantity.Rate
	Distribution = quantity.Distribution
)

const (
	longest = quantity.Longest
	highest = quantity.HighestRate
)

var (
	ParsePrintedDuration = quantity.ParsePrintedDuration
	ParsePrintedNumber   = quantity.ParsePrintedNumber
)
