package writers

import (
	"apfsim/sim/api"
	"apfsim/sim/workload"
)

// Several runs several behaviours at the same time, each with one token. Their numbers are the tokens that the
// server sees.
type Several []workload.Machine

// NewSeveral returns n behaviours that share a client.
func NewSeveral(c workload.Client, n int, make func(c workload.Client) workload.Machine) Several {
	var all Several
	for i := range n {
		all = append(all, make(member{c, int32(i)}))
	}
	return all
}

// member is the client of one of several behaviours.
type member struct {
	workload.Client
	number int32
}

// Index implements workload.Client.
func (m member) Index() int { return int(m.number) }

// Send implements workload.Client.
func (m member) Send(nowNs int64, r *workload.APIRequest) {
	r.Token = m.number
	m.Client.Send(nowNs, r)
}

// HangUp implements workload.Client.
func (m member) HangUp(nowNs int64, _ int32) { m.Client.HangUp(nowNs, m.number) }

// Start implements workload.Machine.
func (all Several) Start(nowNs int64) {
	for _, b := range all {
		b.Start(nowNs)
	}
}

// Answered implements workload.Machine.
func (all Several) Answered(nowNs int64, token int32, a *api.Answer) {
	all[token].Answered(nowNs, 0, a)
}

// Received implements workload.Machine.
func (all Several) Received(nowNs int64, token int32, e *api.Event) {
	all[token].Received(nowNs, 0, e)
}
