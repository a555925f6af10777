package writers

import (
	"apfsim/sim/api"
	"apfsim/sim/behaviour"
)

// Several runs several behaviours beside each other, each with one token. Their numbers are the tokens that the
// server sees.
type Several []behaviour.Behaviour

// NewSeveral returns n behaviours that share a client.
func NewSeveral(c behaviour.Client, n int, make func(c behaviour.Client) behaviour.Behaviour) Several {
	var all Several
	for i := range n {
		all = append(all, make(member{c, int32(i)}))
	}
	return all
}

// member is the client of one of several behaviours.
type member struct {
	behaviour.Client
	number int32
}

// Index implements behaviour.Client.
func (m member) Index() int { return int(m.number) }

// Send implements behaviour.Client.
func (m member) Send(nowNs int64, r *behaviour.Request) {
	r.Token = m.number
	m.Client.Send(nowNs, r)
}

// HangUp implements behaviour.Client.
func (m member) HangUp(nowNs int64, _ int32) { m.Client.HangUp(nowNs, m.number) }

// Start implements behaviour.Behaviour.
func (all Several) Start(nowNs int64) {
	for _, b := range all {
		b.Start(nowNs)
	}
}

// Answered implements behaviour.Behaviour.
func (all Several) Answered(nowNs int64, token int32, a *api.Answer) {
	all[token].Answered(nowNs, 0, a)
}

// Received implements behaviour.Behaviour.
func (all Several) Received(nowNs int64, token int32, e *api.Event) {
	all[token].Received(nowNs, 0, e)
}
