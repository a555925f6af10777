package server

import (
	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
)

// FlowControl is what a server asks of its flow control. The methods mean what those of [filter.Filter] do.
type FlowControl interface {
	NewKind(a *classify.Attributes, query string) (filter.Kind, error)
	Receive(r *filter.Request, k *filter.Kind) (rerouted bool)
	WaitLimitNs(r *filter.Request) int64
	Arrive(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int)
	TimeOut(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int)
	Dropped(nowNs int64, r *filter.Request) (retryAfterSeconds int)
	Cancel(nowNs int64, r *filter.Request) (rejection queueset.Rejection, retryAfterSeconds int)
	Finish(nowNs int64, r *filter.Request) (additionalNs int64)
	Release(nowNs int64, r *filter.Request)
	EndWatch(r *filter.Request)
	Configure(nowNs int64, objects config.Objects)
	Adjust(nowNs int64)
	Update(r estimate.Resource, stats estimate.Stats)
	Probe(nowNs int64, k *filter.Kind) (p queueset.Probe, rejection queueset.Rejection, waits bool)
	Levels() []*flowcontrol.Level
}

// OtherFlowControl is a FlowControl whose limits its Levels do not know.
type OtherFlowControl interface {
	FlowControl
	// EachLevel calls yield for each of the Levels, with the limits in force.
	EachLevel(yield func(LevelState) bool)
	// Freeze ends the controllers, so that the limits stay as they are.
	Freeze()
}

// Beginning is how the flow control of a process of a server begins.
type Beginning struct {
	Now      func() int64 // the time of the run, in nanoseconds
	Settings filter.Settings
	Host     filter.Host
	// Controls says that the controllers of the process run already; else they begin with the first call of Configure.
	Controls bool
	// PhaseNs is the time of the first periodic adjustment with Controls.
	PhaseNs int64
}

// begin gives the server the flow control of a process that holds some objects.
func (s *Server) begin(nowNs int64, held config.Objects, controls bool) {
	s.filter = nil // has no levels to look at until it is made
	settings := s.settings(held)
	if s.deps.FlowControl != nil {
		other := s.deps.FlowControl(Beginning{Now: s.events.NowNs, Settings: settings, Host: s, Controls: controls,
			PhaseNs: s.deps.Settings.AdjustmentPhase.AtNs(s.deps.Seed, s.Index())})
		if other != nil {
			s.filter = other
			return
		}
	}
	s.filter = filter.New(nowNs, settings, s)
}

// EachLevel calls yield for each of the priority levels, by name, until it returns false. There are none without
// PriorityAndFairness, and while the server is Off.
func (s *Server) EachLevel(yield func(LevelState) bool) {
	if other, ok := s.filter.(OtherFlowControl); ok && s.stage != Off {
		other.EachLevel(yield)
		return
	}
	for _, l := range s.Levels() {
		if !yield(l) {
			return
		}
	}
}
