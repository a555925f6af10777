package sim

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"apfsim/sim/server"
)

// seen is one line of testdata/stops.txt: from when a client has received an answer.
type seen struct {
	at     float64 // s from the signal
	answer string
}

// measuredStop is how a real server has stopped.
type measuredStop struct {
	shutdown string            // the scenario's
	seen     map[string][]seen // by what was sent
}

// answers are the answers of the measurement as a simulated client has them.
var answers = []struct{ prefix, answer string }{
	{"200", "200"},
	{"201", "201"},
	{"429 Retry-After: 5", "429 Retry-After 5"},
	{"500", "500"},
	{"error : connect: connection refused", "refused"},
	{"ends: <nil>", "ends"},
	{"gone", "gone"},
	{"still there", "still there"},
}

// readStops reads testdata/stops.txt.
func readStops(t *testing.T) (stops []measuredStop) {
	t.Helper()
	text, err := os.ReadFile("testdata/stops.txt")
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.NewReplacer("--shutdown-delay-duration=", "delay: ", " --shutdown-send-retry-after=", ", sendRetryAfter: ",
		" --shutdown-watch-termination-grace-period=", ", watchTerminationGracePeriod: ")
	line := regexp.MustCompile(`^ *(-?[0-9.]+) s  (.*?)  +(.*)$`)
	for _, l := range strings.Split(string(text), "\n") {
		if given, ok := strings.CutPrefix(l, "flags: "); ok {
			stops = append(stops, measuredStop{flags.Replace(given), map[string][]seen{}})
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		at, err := strconv.ParseFloat(m[1], 64)
		answer := ""
		for _, a := range answers {
			if strings.HasPrefix(m[3], a.prefix) {
				answer = a.answer
			}
		}
		if err != nil || answer == "" {
			t.Fatalf("not understood: %q", l)
		}
		what := strings.ReplaceAll(m[2], ",", "") // as workloads can be called
		s := &stops[len(stops)-1]
		s.seen[what] = append(s.seen[what], seen{at, answer})
	}
	return stops
}

// Clients see four stops of a simulated server as others have seen those of a real one: the same answers
// in the same order, each from the same time on. Both send about every 50 ms, so that the times may
// differ by so much, and by as much again because the real server and its clients take time.
func TestStopsAsMeasured(t *testing.T) {
	const signalAt, tolerance = 2.0, 0.1
	stops := readStops(t)
	if len(stops) != 4 {
		t.Fatalf("there are %d stops, want 4", len(stops))
	}
	for _, stop := range stops {
		t.Run(stop.shutdown, func(t *testing.T) {
			spec := fmt.Sprintf(`
  duration: 37s
  servers: {kubernetesVersion: "1.37", shutdown: {%s}}
  events: [{at: 2s, stop: {server: 0}}]
  workload:
  - {name: "watch", as: {user: u}, request: {verb: watch, resource: namespaces}, execution: 1ms, arrivals: {burst: {at: 10ms, requests: 1}}}
`, stop.shutdown)
			for _, w := range []struct{ name, request string }{
				{"get one conn", "{verb: get, resource: namespaces, name: x}"},
				{"get new conn", "{verb: get, resource: namespaces, name: x}"},
				{"readyz new conn", "{verb: get, path: /readyz}"},
				{"livez new conn", "{verb: get, path: /livez}"},
			} {
				connection := map[bool]string{true: "PerRequest", false: "HTTP2"}[strings.HasSuffix(w.name, "new conn")]
				spec += fmt.Sprintf("  - {name: %q, as: {user: u}, request: %s, connection: %s, execution: 2ms, arrivals: {burst: {at: 20ms, requests: 1, every: 50ms}}}\n", w.name, w.request, connection)
			}
			for _, sent := range []struct {
				name string
				at   string
			}{{"slow sent -500ms", "1.5s"}, {"slow sent 500ms", "2.5s"}, {"slow sent 2.5s", "4.5s"}} {
				spec += fmt.Sprintf("  - {name: %q, as: {user: u}, request: {verb: create, resource: configmaps}, execution: 8s, arrivals: {burst: {at: %s, requests: 1}}}\n", sent.name, sent.at)
			}
			got := map[string][]seen{}
			see := func(nowNs int64, what, answer string) {
				if all := got[what]; len(all) == 0 || all[len(all)-1].answer != answer {
					got[what] = append(all, seen{float64(nowNs)/1e9 - signalAt, answer})
				}
			}
			live(t, spec, func(run *Run) server.Observer {
				name := func(r *server.Request) string { return run.Scenario.Spec.Workload[r.Workload].Name }
				return server.Observer{
					Executed: func(nowNs int64, r *server.Request) {
						if r.IsWatch() {
							see(nowNs, name(r), "200")
						}
					},
					Answered: func(nowNs int64, r *server.Request) {
						if r.IsWatch() {
							see(nowNs, name(r), "ends") // a client sees no difference between an end and a broken connection
						} else {
							see(nowNs, name(r), how(r))
						}
					},
					Changed: func(nowNs int64, s *server.Server) {
						if s.Stage() == server.Off {
							see(nowNs, "process", "gone")
						}
					},
				}
			})
			for what, want := range stop.seen {
				if last := want[len(want)-1]; last.answer == "still there" {
					if all := got[what]; len(all) > 0 && all[0].at < last.at {
						t.Errorf("%s: gone at %.3f s, but still there at %.3f s", what, all[0].at, last.at)
					}
					continue
				}
				all := got[what]
				if what == "watch" && len(all) > len(want) { // it had not ended when the measurement ended
					all = all[:len(want)]
				}
				same := len(all) == len(want)
				for i := 0; same && i < len(all); i++ {
					early := want[i].at < 0 // when the measurement began
					same = all[i].answer == want[i].answer && (early || math.Abs(all[i].at-want[i].at) <= tolerance)
				}
				if !same {
					t.Errorf("%s: got %v, want %v", what, all, want)
				}
			}
		})
	}
}
