package server

// place is where a request is. It moves in one direction, from outside to over, and a request leaves each place once:
//
//	outside    it has not reached a server: it is on its way, waits to be sent, or is lost on its way
//	atServer   from its arrival until the server is done with it
//	abandoned  its server has ended before: its client has not noticed yet
//	over       its memory waits to be another request's
//
// What a server does with a request, it does only while that is in the place that belongs to it. Whatever comes later,
// such as a client that hangs up when the server has ended at the same instant, finds the request elsewhere and does
// nothing, so that a request cannot end twice.
type place uint8

const (
	outside place = iota
	atServer
	abandoned
	over
)

// Ref refers to a request that may be over when it is looked at: its memory is then another one's. The zero value
// refers to none.
type Ref struct {
	request *Request
	use     uint32
}

// Ref returns a reference to a request.
func (r *Request) Ref() Ref { return Ref{r, r.use} }

// Request returns the request, nil if it is over or there is none.
func (f Ref) Request() *Request {
	if f.request == nil || f.request.use != f.use || f.request.place == over {
		return nil
	}
	return f.request
}

// recycle takes back a request that is over.
func (s *Shared) recycle(r *Request) {
	if r.place == over {
		panic("server: a request is over twice")
	}
	r.place = over
	if d := r.Details; d != nil {
		d.leaveServer()
		if d.bytes > 0 {
			s.servers[r.Server].memory.takenBytes -= d.bytes
			d.bytes = 0
		}
	}
	s.free = append(s.free, r)
}
