package report

import (
	"cmp"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// Bars compares what flows got with what is fair, from the top.
type Bars struct {
	X    Axis
	Bars []Bar
}

// Bar is one flow, or the mean of several.
type Bar struct {
	Name        string
	Service     float64 // seat-seconds
	FairShare   float64 // seat-seconds
	Underserved bool    // whether the service is below judge.UnderservedRatio of the fair share
}

// A level has at most this many bars of single flows. Flows whose fair share is less than 1/200 of the
// greatest have no bars of their own beyond the first few.
const (
	maxFlowBars = 24
	minFlowBars = 8
)

// servicePicture compares the service of the flows of a level with their fair shares, nil if fewer
// than two had a demand. The flows with the greatest demands have bars, all others one for their mean, also those that
// the summary does not list.
func servicePicture(s *result.Summary, level string) *Picture {
	var flows []*result.Flow
	for i := range s.Flows {
		if f := &s.Flows[i]; f.PriorityLevel == level && f.FairShareSeatSeconds > 0 {
			flows = append(flows, f)
		}
	}
	if len(flows) < 2 {
		return nil
	}
	slices.SortStableFunc(flows, func(a, b *result.Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
	b := &Bars{X: Axis{Label: "seat-seconds"}, Bars: serviceBars(flows, othersOf(s, level))}
	for _, bar := range b.Bars {
		b.X.Max = max(b.X.Max, bar.Service, bar.FairShare)
	}
	b.X.Max *= 1.05
	return &Picture{Name: serviceName(level), Title: "Service and fair share of flows: " + result.LevelTitle(s, level), Bars: b, Legend: []legendEntry{
		{Name: "service", Kind: KindService}, {Name: "service below " + format.Percent(judge.UnderservedRatio) + " of fair share", Kind: KindUnderservedService},
		{Name: "fair share", Kind: KindFairShare}}}
}

// othersOf returns the sum of the flows of a level that the summary does not list.
func othersOf(s *result.Summary, level string) (sum result.OtherFlows) {
	for i := range s.OtherFlows {
		if o := &s.OtherFlows[i]; o.PriorityLevel == level {
			sum.Number += o.Number
			sum.ServiceSeatSeconds += o.ServiceSeatSeconds
			sum.FairShareSeatSeconds += o.FairShareSeatSeconds
		}
	}
	return sum
}

func serviceBars(flows []*result.Flow, others result.OtherFlows) (bars []Bar) {
	shown := flows
	if len(flows) > maxFlowBars+1 {
		shown = flows[:maxFlowBars]
	}
	greatest := flows[0].FairShareSeatSeconds
	for len(shown) > minFlowBars && shown[len(shown)-1].FairShareSeatSeconds < greatest/200 {
		shown = shown[:len(shown)-1]
	}
	for _, f := range shown {
		bars = append(bars, Bar{Name: format.Squeeze(format.Printable(f.ShortName()), 40), Service: f.ServiceSeatSeconds, FairShare: f.FairShareSeatSeconds})
	}
	if remaining := flows[len(shown):]; len(remaining)+others.Number > 0 {
		n := float64(len(remaining) + others.Number)
		bar := Bar{Name: "mean of " + strings.ReplaceAll(format.Number(n), " ", "") + " others",
			Service: others.ServiceSeatSeconds / n, FairShare: others.FairShareSeatSeconds / n}
		for _, f := range remaining {
			bar.Service += f.ServiceSeatSeconds / n
			bar.FairShare += f.FairShareSeatSeconds / n
		}
		bars = append(bars, bar)
	}
	for i := range bars {
		bars[i].Underserved = bars[i].Service < judge.UnderservedRatio*bars[i].FairShare
	}
	return bars
}
