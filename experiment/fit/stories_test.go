package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// loop returns lines of users with one name who wait for the response to one request before they send the next one, 50 ms
// later in the mean, for 100 s. A request takes 20 ms in the mean. Each is of one of the kinds, with what is appended to each.
func loop(name string, users int, each string, kinds ...string) string {
	exponential := rand.New(rand.NewPCG(3, 4))
	next := make([]float64, users)
	for i := range next {
		next[i] = 0.05 * exponential.ExpFloat64()
	}
	var b strings.Builder
	for {
		now := slices.Min(next)
		if now > 100 {
			return b.String()
		}
		service := 0.02 * exponential.ExpFloat64()
		next[slices.Index(next, now)] = now + service + 0.05*exponential.ExpFloat64()
		fmt.Fprintf(&b, `{"arrivalNs":%d,"user":%q,"verb":"get","executionNs":%d%s%s}`+"\n",
			int64(now*1e9), name, int64(service*1e9), kinds[exponential.IntN(len(kinds))], each)
	}
}

const (
	aNode   = `,"resource":"nodes","name":"n"`
	aSecret = `,"resource":"secrets","namespace":"default","name":"s"`
)

// The log of a real server has the ends of requests late, by as much as requests of the level exempt seem to wait. Without
// those 50 ms, the requests of a client who waits for each response do not overlap.
func TestEndsInARealLogAreLate(t *testing.T) {
	f, _ := fitLog(t, loop("u", 1, `,"priorityLevel":"exempt","waitNs":50000000`, aPod), "")
	w := &f.Report.Workloads[0]
	if !strings.HasPrefix(w.Arrivals, "closed, concurrency 1,") {
		t.Errorf("the arrivals are %s", w.Arrivals)
	}
}

// A request that still waits at the end of the log is in progress until then, so that three users are three even if one of
// them waits from the start. The same holds for a request that still executes.
func TestRequestsThatDoNotEnd(t *testing.T) {
	for _, stuck := range []string{`,"outcome":"waiting"`, ""} {
		log := logOf(gets("u", aPod+`,"workload":"w"`+stuck, 0), loop("u", 2, `,"workload":"w","outcome":"executed"`, aPod))
		f, _ := fitLog(t, log, "")
		if w := &f.Report.Workloads[0]; !strings.HasPrefix(w.Arrivals, "closed, concurrency 3,") {
			t.Errorf("with %q, the arrivals are %s", stuck, w.Arrivals)
		}
	}
}

// A client who sends several kinds of requests one after the other is one workload, whose statistics are those of all
// kinds. A kind of which the log has only retries has no weight, and is left out of it.
func TestKindsOfOneClient(t *testing.T) {
	log := logOf(loop("u", 1, `,"workload":"w","outcome":"executed","attempt":1`, aPod, aNode),
		gets("u", aSecret+`,"workload":"w","outcome":"rejected","retryAfterSeconds":1,"attempt":2`, 3),
		gets("u", aSecret+`,"workload":"w","outcome":"executed","attempt":3`, 4))
	f, workloads := fitLog(t, log, "")
	if len(workloads) != 1 || len(workloads[0].Requests) != 2 || len(f.Report.Workloads[0].Kinds) != 3 {
		t.Fatalf("%+v", f.Report.Workloads)
	}
	n, pods, nodes := int64(strings.Count(log, "\n")), strings.Count(log, "pods"), strings.Count(log, "nodes")
	for _, r := range workloads[0].Requests {
		if want := map[string]int{"pods": pods, "nodes": nodes}[r.Resource]; int(r.Weight) != want {
			t.Errorf("%s have the weight %v, want %d", r.Resource, r.Weight, want)
		}
	}
	if w := f.Report.Workloads[0]; w.First != n-2 || w.Retries != 2 || w.Rejected != 1 || w.Retried != 2 {
		t.Errorf("%+v, want %d first attempts and two retries after one rejection", w, n-2)
	}
	if l := f.Recorded.Workloads; len(l) != 1 || l[0].Arrived != n || l[0].Rejected != 1 || l[0].Executed != n-1 || l[0].Arrivals == nil {
		t.Errorf("%+v of %d requests", l, n)
	}
}

// The share of the rejected requests that were sent again follows from the attempts of a simulated server's log.
func TestSharesOfRetries(t *testing.T) {
	const simulated = aPod + `,"workload":"w"`
	for _, c := range []struct {
		rejected, again int
		share           float64
	}{{1, 1, 1}, {4, 2, 0.5}, {4, 0, 0}, {0, 0, 0}} {
		log := logOf(gets("u", simulated+`,"outcome":"executed","attempt":1`, seconds(20)...),
			gets("u", simulated+`,"outcome":"rejected","retryAfterSeconds":3,"attempt":1`, seconds(c.rejected)...),
			strings.ReplaceAll(gets("u", simulated+`,"outcome":"executed","attempt":2`, seconds(c.again)...), "250000000,", "650000000,"))
		f, workloads := fitLog(t, log, "")
		w := &f.Report.Workloads[0]
		if w.Rejected != int64(c.rejected) || w.Retries != int64(c.again) || w.Retried != c.share || (workloads[0].Retry.MaxRetries > 0) != (c.again > 0) {
			t.Errorf("%d rejected, %d sent again: %+v", c.rejected, c.again, w)
		}
		// That none of four was sent again is known, so that there is nothing to note.
		if notes := strings.Join(w.Notes, "; "); strings.Contains(notes, "no retries were recognised") {
			t.Errorf("%d rejected, %d sent again: %s", c.rejected, c.again, notes)
		}
	}
}

// A real server logs the end of a request up to 1 ms after its client has the response, so that a retry may seem to be
// early by so much.
func TestRetriesInARealLog(t *testing.T) {
	for earlyNs, want := range map[int64]int64{1_000_000: 12, 2_000_000: 0} {
		var b strings.Builder
		for i := range int64(12) {
			at := 10_000_000_000 * (i + 1)
			fmt.Fprintf(&b, `{"arrivalNs":%d,"user":"u","verb":"get","outcome":"rejected"%s}`+"\n", at, aPod)
			fmt.Fprintf(&b, `{"arrivalNs":%d,"user":"u","verb":"get","outcome":"executed","executionNs":1000000%s}`+"\n", at+1_000_000_000-earlyNs, aPod)
		}
		f, _ := fitLog(t, b.String(), "")
		if f.Report.Retries != want {
			t.Errorf("early by %d ns: %d retries, want %d", earlyNs, f.Report.Retries, want)
		}
	}
}

// The waits of a real server are too long by as much as those of the level exempt, which never waits. With fewer than 30 of
// them, this is not known, and 3 ms are the margin. A rejected request did wait.
func TestErrorsOfWaits(t *testing.T) {
	const exempt = aPod + `,"priorityLevel":"exempt"`
	for n, marginNs := range map[int64]int64{29: 3_000_000, 30: 0} {
		log := logOf(gets("u", exempt+`,"waitNs":2000000,"outcome":"executed"`, seconds(int(n))...), gets("u", exempt+`,"waitNs":9000000,"outcome":"rejected"`, 0.5),
			gets("u", exempt+`,"outcome":"executed"`, 0.6), gets("v", aPod+`,"priorityLevel":"low","waitNs":8000000,"outcome":"executed"`, 40))
		f, _ := fitLog(t, log, "")
		r := f.Recorded
		if r.WaitErrors.N != n || r.WaitErrors.Mean() != 2e6 {
			t.Errorf("%d errors of %g ns, want %d", r.WaitErrors.N, r.WaitErrors.Mean(), n)
		}
		if log = strings.ReplaceAll(log, `"priorityLevel":"exempt"`, `"priorityLevel":"exempt","workload":"w"`); n == 29 {
			if f, _ := fitLog(t, logOf(log), ""); f.Recorded.WaitErrors.N != 0 {
				t.Errorf("a simulated server has %d errors", f.Recorded.WaitErrors.N)
			}
		}
		if r.WaitMarginNs != marginNs {
			t.Errorf("%d errors: the margin is %d ns, want %d", n, r.WaitMarginNs, marginNs)
		}
	}
}

// If no request of a workload was executed, the executions are as those of all others. One that was executed is enough.
func TestExecutionsOfRejectedRequests(t *testing.T) {
	for executed, want := range map[int]string{0: "constant 1ms", 1: "constant 5ms"} {
		log := logOf(gets("u", aPod+`,"outcome":"executed"`, seconds(20)...), gets("v", aNode+`,"outcome":"rejected"`, seconds(15)...),
			strings.ReplaceAll(gets("v", aNode+`,"outcome":"executed"`, seconds(executed)...), `"executionNs":1000000`, `"executionNs":5000000`))
		f, _ := fitLog(t, log, "")
		for _, w := range f.Report.Workloads {
			if noted := strings.Contains(strings.Join(w.Notes, ""), "no request was executed"); w.Name == "v-get-nodes" && (w.Execution != want || noted != (executed == 0)) {
				t.Errorf("%d executed: %s, %q; want %s", executed, w.Execution, w.Notes, want)
			}
		}
	}
}

// Of the kinds of requests that a scenario cannot have, the problem of the first is told.
func TestFirstReasonToLeaveOut(t *testing.T) {
	log := logOf(gets("u", aPod, seconds(5)...),
		gets("u", `,"path":"healthz"`, 0.5),
		gets("u", `,"path":"/healthz?verbose"`, 0.6, 0.7))
	f, _ := fitLog(t, log, "")
	if notes := strings.Join(f.Report.Notes, ""); f.Report.LeftOut != 3 || notes != "3 requests of 2 kinds are left out, because a scenario cannot have them; the problem of the first kind is request.path: \"healthz\": want a slash at the beginning" {
		t.Errorf("%d left out: %q", f.Report.LeftOut, notes)
	}
}

// Two users are alike unless one sends more than twice as many requests, and this is more than five standard deviations:
// 75 - 25 = 5·√(75 + 25).
func TestBusyUsers(t *testing.T) {
	for _, c := range []struct{ few, many, want int }{{25, 75, 1}, {24, 75, 2}, {100, 200, 1}, {100, 201, 2}} {
		log := func(n int, user string) string {
			var at []float64
			for i := range n {
				at = append(at, float64(i)*60/float64(n))
			}
			return gets(user, aPod, at...)
		}
		f, _ := fitLog(t, logOf(log(c.few, "web-0"), log(c.many, "web-1")), "")
		if got := len(f.Report.Workloads); got != c.want {
			t.Errorf("%d and %d requests: %d workloads, want %d", c.few, c.many, got, c.want)
		}
	}
}

// The groups of alike users have the letters from a to z, and further ones have z, too.
func TestLettersOfGroups(t *testing.T) {
	var c class
	for k := range 27 {
		for _, token := range []string{"red", "blue"} {
			c.members = append(c.members, member{&stream{requests: int64(100 * math.Pow(3, float64(k)))}, likeness{word: token, token: token}})
		}
	}
	letters := ""
	for _, w := range c.workloads() {
		letters += strings.TrimSuffix(strings.TrimPrefix(w.word, "namespace-"), index)
	}
	if letters != "abcdefghijklmnopqrstuvwxyzz" {
		t.Error(letters)
	}
}

// A numbered client that sent nothing by chance is still one of them.
func TestSilentClient(t *testing.T) {
	f, workloads := fitLog(t, logOf(gets("web-0", aPod, 1), gets("web-2", aPod, 2)), "")
	if len(workloads) != 1 || workloads[0].Clients != 3 {
		t.Fatalf("%+v", workloads)
	}
	var sent []int64
	for _, c := range f.fitter.workloads[0].observed.Clients {
		sent = append(sent, c.First)
	}
	if !slices.Equal(sent, []int64{1, 0, 1}) {
		t.Errorf("the clients sent %d requests", sent)
	}
}

// A watch that ends within a second after the scenario was cut off by the end of the log.
func TestWatchesThatTheEndOfTheLogCutOff(t *testing.T) {
	const base = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: b}\nspec: {duration: 60s}\n"
	for lastsNs, want := range map[int64]string{
		49_000_000_000: "none of 20 watches ended in the log", // until 59 s, after the last arrival
		51_000_000_000: "none of 20 watches ended in the log",
		51_000_000_001: "of 20 were still open at the end of the log",
		48_999_999_999: "of 20 were still open at the end of the log",
	} {
		var lines strings.Builder
		for range 20 {
			fmt.Fprintf(&lines, `{"arrivalNs":10000000000,"user":"u","verb":"watch","resource":"pods","executionNs":1000000,"watchNs":%d}`+"\n", lastsNs-1_000_000)
		}
		f, _ := fitLog(t, logOf(gets("v", aPod, 1, 5), lines.String(), gets("v", aPod, 59)), base)
		for _, w := range f.Report.Workloads {
			if w.Kinds[0].Request == "watch pods" && !strings.Contains(strings.Join(w.Notes, ""), want) {
				t.Errorf("watches of %d ns: %q, want %s", lastsNs, w.Notes, want)
			}
		}
	}
}

// The sizes of the assumed objects grow until a list of one object takes its seats, and a request that says nothing of seats
// does not count.
func TestSizesOfStoredObjects(t *testing.T) {
	for seats, bytes := range map[int]int{2: 200_000, 10: 1_500_000} {
		list := strings.ReplaceAll(gets("u", fmt.Sprintf(`,"resource":"secrets","seats":%d,"query":"limit=1"`, seats), seconds(5)...)+
			gets("v", `,"resource":"secrets"`, 6), `"get"`, `"list"`)
		f, _ := fitLog(t, logOf(list), "")
		notes := strings.Join(f.Report.Notes, "")
		if !strings.Contains(notes, fmt.Sprintf("objects of %d bytes are assumed, with which all lists take the seats", bytes)) {
			t.Errorf("%d seats: %q, want objects of %d bytes", seats, notes, bytes)
		}
	}
}
