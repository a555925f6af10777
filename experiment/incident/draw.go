package incident

import (
	"apfsim/sim/random"
	"apfsim/sim/trace/requests"
)

// enoughSamples is how many execution times there must be of a group of requests before one of them
// is drawn.
const enoughSamples = 10

// drawLevel is how much a request has in common with those from whose execution times its own is drawn.
type drawLevel uint8

const (
	byUser     drawLevel = iota // user, verb and resource
	byResource                  // verb and resource
	byVerb                      // verb
	byNothing                   // any request, except watches
	drawLevels
	noSample = drawLevels
)

// sampleSizes are the numbers of execution times that are kept of a group.
var sampleSizes = [drawLevels]int{64, 256, 1024, 1024}

// drawKey is a group of requests.
type drawKey struct{ user, verb, apiGroup, resource, subresource string }

// drawKeyOf returns the group of a request at a level; ok is false if it has none.
func drawKeyOf(q *requests.Request, l drawLevel) (k drawKey, ok bool) {
	k = drawKey{q.User, q.Verb, q.APIGroup, q.Resource, q.Subresource}
	watch := q.Verb == "watch"
	if watch && startsWithList(q) {
		k.verb = "watch with initial events"
	}
	if l >= byResource {
		k.user = ""
	}
	if l >= byVerb {
		k.apiGroup, k.resource, k.subresource = "", "", ""
	}
	if l == byNothing {
		k.verb = ""
		return k, !watch
	}
	return k, true
}

// drawKeys are the groups of which execution times are needed. Their number is bounded: further users have no groups of their
// own, and after as many further groups of verbs and resources neither do these.
type drawKeys map[drawKey]drawLevel

// add adds the groups of a request whose execution time must be drawn. A watch that was open before
// time 0, which is not known yet, adds groups that may not be needed.
func (d drawKeys) add(q *requests.Request) {
	if t := timesOf(q, 0, q.ArrivalNs); t.source != drawn {
		return
	}
	for l := range drawLevels {
		k, ok := drawKeyOf(q, l)
		most := 2 * mostClients
		if l == byUser {
			most = mostClients
		}
		if _, known := d[k]; ok && !known && (len(d) < most || l >= byVerb) {
			d[k] = l
		}
	}
}

// samples are execution times of the groups that are needed: of each group a uniform sample of
// bounded size (Vitter 1985, algorithm R).
type samples struct {
	stream random.Stream
	groups map[drawKey]*sample
}

type sample struct {
	seen  int64
	times []int64
}

func newSamples(needed drawKeys, seed uint64) *samples {
	s := &samples{groups: make(map[drawKey]*sample, len(needed))}
	s.stream.Open(seed, "import", 0, "execution times")
	for k := range needed {
		s.groups[k] = &sample{}
	}
	return s
}

// add adds the execution time of a request. What was answered to a watch that was refused says nothing
// about how long others initialize.
func (s *samples) add(q *requests.Request, t times) {
	if t.source == drawn || t.source == lifetime || t.source == openBefore || q.Verb == "watch" && !isWatch(q) {
		return
	}
	for l := range drawLevels {
		k, ok := drawKeyOf(q, l)
		g := s.groups[k]
		if !ok || g == nil {
			continue
		}
		g.seen++
		if len(g.times) < sampleSizes[l] {
			g.times = append(g.times, t.executionNs)
		} else if i := s.stream.Int64N(g.seen); i < int64(len(g.times)) {
			g.times[i] = t.executionNs
		}
	}
}

// draw draws an execution time for a request: from the narrowest group with enough of them, or else
// from the narrowest with any. Without any it is 0, and the level is noSample.
func (s *samples) draw(q *requests.Request) (executionNs int64, from drawLevel) {
	from = noSample
	var chosen *sample
	for l := range drawLevels {
		k, ok := drawKeyOf(q, l)
		g := s.groups[k]
		if !ok || g == nil || len(g.times) == 0 {
			continue
		}
		if chosen == nil || len(g.times) >= enoughSamples {
			chosen, from = g, l
		}
		if len(g.times) >= enoughSamples {
			break
		}
	}
	if chosen == nil {
		return 0, noSample
	}
	return chosen.times[s.stream.Int64N(int64(len(chosen.times)))], from
}
