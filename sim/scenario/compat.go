package scenario

import (
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/trace"
)

// Names of what has moved to packages of its own, until their users have followed.
type (
	Duration     = quantity.Duration
	Rate         = quantity.Rate
	Distribution = quantity.Distribution

	TraceRecord = trace.Record
	TraceReader = trace.Reader

	Statistic  = metric.Name
	Threshold  = metric.Threshold
	Thresholds = metric.Thresholds
	Tag        = metric.Tag
	Unit       = metric.Unit
)

const (
	PlainNumber = metric.NoUnit
	Fraction    = metric.NoUnit
	Nanoseconds = metric.Nanoseconds

	longest = quantity.Longest
	highest = quantity.HighestRate
)

var (
	ParsePrintedDuration = quantity.ParsePrintedDuration
	ParsePrintedNumber   = quantity.ParsePrintedNumber
	ParseStatistic       = metric.ParseName
)
