package result

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/sim/metric"
)

// Trust is a reason to trust some statistics less.
type Trust struct {
	ID       string `json:"id"` // what kind of reason it is: few-samples
	Sentence string `json:"sentence"`
	Level    string `json:"level,omitempty"` // the priority level that it is about
	Runs     int    `json:"runs,omitempty"`  // of several runs, how many have it
}

// The kinds of reasons.
const (
	FewSamples        = "few-samples"        // a threshold has been judged by a percentile of too few samples
	ReplayDiffers     = "replay-differs"     // a replay does not agree with its log
	ExecutionsMissing = "executions-missing" // a log does not say how long requests executed
	PhaseUnknown      = "phase-unknown"      // nothing says when the server adjusted its limits
	VersionAssumed    = "version-assumed"    // nothing says of which release the server is
	DrawnExecutions   = "drawn-executions"   // executions are drawn from those of other requests
	BeyondFit         = "beyond-fit"         // more than what the scenario is fitted to shows
	UnknownCapacity   = "unknown-capacity"   // executions are those of a smaller load, and nothing says how long they take with this one
	WideBounds        = "wide-bounds"        // the interval of the capacity leaves open what a statistic is
	WhatIf            = "what-if"            // the servers are none that exist
)

// Notes returns the sentences of all reasons.
func (v *Overall) Notes() (all []string) {
	if v == nil {
		return nil
	}
	for i := range v.Trust {
		all = append(all, v.Trust[i].Sentence)
	}
	return all
}

// Distrusts says whether there is a reason of a kind.
func (v *Overall) Distrusts(id string) bool {
	return v != nil && slices.ContainsFunc(v.Trust, func(t Trust) bool { return t.ID == id })
}

// AddTrust adds a reason to trust statistics of the run less.
func (s *Summary) AddTrust(id, sentence string) {
	if s.Verdict == nil {
		s.Verdict = NewOverall()
	}
	s.Verdict.Trust = append(s.Verdict.Trust, Trust{ID: id, Sentence: sentence})
}

// addTrustFirst adds a reason that comes before the others, because it is about the figures that are shown first.
func (s *Summary) addTrustFirst(id, sentence string) {
	s.AddTrust(id, sentence)
	all := s.Verdict.Trust
	last := all[len(all)-1]
	copy(all[1:], all)
	all[0] = last
}

// LoadBeyondMeasured is how far a run goes beyond the load with which its executions or its capacity were measured.
type LoadBeyondMeasured struct {
	Executing, Average float64 // requests that a server executes at a time, on average, and did when they were measured; 0 unless it is many more
	Share              float64 // of the executions, those among more than Measured at a time
	Measured           int
	Unknown            bool // there is no law that says how long these take
}

// TrustLoad adds the reason BeyondFit or UnknownCapacity.
func (s *Summary) TrustLoad(l *LoadBeyondMeasured) {
	switch {
	case l.Executing > 0:
		s.AddTrust(UnknownCapacity, fmt.Sprintf("a server executes %s requests at a time on average. The executions are those of a server that executes %s, and its capacity is unknown: it may be much slower",
			format.Digits(l.Executing), format.Digits(l.Average)))
	case l.Unknown:
		s.AddTrust(UnknownCapacity, fmt.Sprintf("%s of the requests execute when more than %d do at a time. The executions are those of a server that seldom executes more, and its capacity is unknown: it may be much slower",
			format.Percent(l.Share), l.Measured))
	default:
		s.AddTrust(BeyondFit, fmt.Sprintf("%s of the requests execute when more than %d do at a time, up to which the capacity was measured: how the server executes more is extrapolated",
			format.Percent(l.Share), l.Measured))
	}
}

// TrustWhatIf adds the reason WhatIf if servers decide by other rules, or estimate seats by other numbers, than kube-apiserver does.
func (s *Summary) TrustWhatIf() {
	if len(s.WhatIfRules) > 0 {
		s.AddTrust(WhatIf, "what-if: the rules of flow control are those of no release of Kubernetes ("+strings.Join(s.WhatIfRules, ", ")+")")
	}
	if len(s.WhatIfSeats) > 0 {
		s.AddTrust(WhatIf, "what-if: the seats are not those of kube-apiserver, which has no flag for them ("+strings.Join(s.WhatIfSeats, ", ")+")")
	}
}

// mostFew is how many percentiles of too few samples are named.
const mostFew = 3

// TrustThresholds adds the reason FewSamples if a threshold has been judged by a percentile of too few samples.
func (s *Summary) TrustThresholds() {
	var few []string
	seen := map[string]bool{}
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		if v.Few == 0 {
			continue
		}
		if text := v.fewText(); !seen[text] {
			seen[text] = true
			few = append(few, text)
		}
	}
	if len(few) == 0 {
		return
	}
	if more := len(few) - mostFew; more > 0 {
		few = append(few[:mostFew], fmt.Sprintf("%d more percentiles of thresholds", more))
	}
	s.AddTrust(FewSamples, strings.Join(few, "; "))
}

// fewText names the percentile of a threshold and states how many samples it is of.
func (v *Verdict) fewText() string {
	percent, _ := v.ID.Percent()
	text := fmt.Sprintf("%s p%v", v.ID.Metric, percent)
	if percent == 50 {
		text = v.ID.Metric + " median"
	}
	for i, tag := range v.ID.Tags {
		if i == 0 {
			text += " of " + tag.Value
		} else {
			text += ", " + tag.Value
		}
	}
	text += " is of "
	switch _, timed := measure.TimingOf(v.ID.Metric); {
	case timed:
		text += RequestCount(v.Few)
	case v.Few == 1:
		text += "1 value"
	default:
		text += fmt.Sprintf("%d values", v.Few)
	}
	if v.Windows != nil {
		text += " in a window"
	}
	return text
}

// FewOf returns the number of samples of a statistic if it is a percentile of too few, else 0.
func FewOf(name *metric.Name, samples int64) int64 {
	if percent, is := name.Percent(); !is || measure.Enough(percent, samples) {
		return 0
	}
	return samples
}
