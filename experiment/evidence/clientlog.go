package evidence

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/core/request"
	"apfsim/document"
	"apfsim/experiment/incident"
)

// clientLog is what the log of a program with client-go says of its requests: how long they waited for the client's own rate limit,
// and which the server told to come again. client-go logs waits of more than 50 ms at -v=3, those of more than 1 s at -v=2 at most
// once a second, and else at most once in 10 s for all of the process: see k8s.io/client-go, rest/request.go and rest/with_retry.go.
type clientLog struct {
	source  *incident.Source
	waits   []clientWait  // before a first attempt
	retries []clientRetry // requests that are sent again, as the server or a connection has failed
	givenUp int64         // requests that were never sent, as their deadline was nearer than the limit allows
	bad     document.Errors
}

// clientWait is a line on a request that waited for the client's rate limit.
type clientWait struct {
	line   int
	verb   string // of the API, or the HTTP method in lower case
	what   string // resource.group/subresource, "discovery" or the path
	wait   time.Duration
	moment time.Time // zero if the line does not say it; without a year, it is in the year 0
}

// clientRetry is a line on an answer after which the client sends its request again.
type clientRetry struct {
	line       int
	verb, what string
	uid        string // of the FlowSchema, "" if the answer has none
	status     int    // 429 or 5xx; 0 if the line does not say it, and after an error of the connection
	broken     bool   // it was an error of the connection
	after      time.Duration
	eviction   bool
}

// Patterns of the lines. Quotes may be escaped, as the line may be within JSON, logfmt or both.
const (
	durationPattern = `((?:\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns))+)`
	requestPattern  = `([A-Z]+):([^\s"\\<>│|]+)`
)

var (
	throttledLine  = regexp.MustCompile(`Throttling request took ` + durationPattern + `, request: ` + requestPattern)
	waitedLine     = regexp.MustCompile(`Waited for ` + durationPattern + ` due to client-side throttling, not priority and fairness, request: ` + requestPattern)
	retriedLine    = regexp.MustCompile(`Waited for ` + durationPattern + `, (retries: \d+, retry-after: .*?) - request: ` + requestPattern)
	structuredLine = regexp.MustCompile(`Waited before sending request`)
	retryAfterLine = regexp.MustCompile(`Got a Retry-After (\d+s) response for attempt \d+ to ([^\s"\\<>│|]+)`)
	retryAfterKeys = regexp.MustCompile(`Got a Retry-After response`)
	givenUpLine    = regexp.MustCompile(`client rate limiter Wait returned an error: (?:context deadline exceeded|rate: Wait\(n=1\) would exceed context deadline)`)
	anyClientLine  = regexp.MustCompile(`Throttling request took|Waited for \d|Waited before sending request|Got a Retry-After|client rate limiter Wait`)

	retryReason = regexp.MustCompile(`retries: \d+, retry-after: (\d+s) - retry-reason: (?:due to server-side throttling, FlowSchema UID: \\*"([^"\\]*)|(\d{3})\b|due to retryable error)`)
)

// value returns the value of a key of a structured line: in JSON, logfmt or klog's text.
func value(line, key string) string {
	m := keyPatterns[key].FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return cmp.Or(m[1], m[2])
}

// keyPatterns find the keys of structured lines. The text of a value with quotes ends at a quote that is not escaped more than the
// first one.
var keyPatterns = map[string]*regexp.Regexp{}

func init() {
	for _, key := range []string{"delay", "reason", "verb", "URL", "url"} {
		keyPatterns[key] = regexp.MustCompile(`[\s,{"\\]` + key + `\\*"?\s*[=:]\s*(?:\\*"((?:[^"\\]|\\+"[^"\\\s,}]*\\+")*)|([^\s,}"\\]+))`)
	}
}

// readClientLog reads the lines of a log that are about waits and retries. Other lines are skipped.
func readClientLog(file, text string) *clientLog {
	l := &clientLog{}
	number := 0
	latest := []clientWait{} // to know a wait that is logged at two levels
	for line := range strings.Lines(text) {
		number++
		if !anyClientLine.MatchString(line) {
			continue
		}
		before := len(l.waits) + len(l.retries) + int(l.givenUp)
		moment := momentOf(line)
		add := func(duration, method, url string) {
			d, err := time.ParseDuration(duration)
			if err != nil {
				return
			}
			verb, what, _ := asked(method, url)
			w := clientWait{number, verb, what, d, moment}
			same := func(o clientWait) bool { return o.wait == d && o.verb == verb && o.what == what }
			if slices.ContainsFunc(latest, same) {
				before-- // it was read, and is one
				return
			}
			if latest = append(latest, w); len(latest) > 8 {
				latest = latest[1:]
			}
			l.waits = append(l.waits, w)
		}
		for _, pattern := range []*regexp.Regexp{throttledLine, waitedLine} {
			for _, m := range pattern.FindAllStringSubmatch(line, -1) {
				add(m[1], m[2], m[3])
			}
		}
		for _, m := range retriedLine.FindAllStringSubmatch(line, -1) {
			l.retried(number, m[2], m[3], m[4])
		}
		if structuredLine.MatchString(line) {
			if reason := value(line, "reason"); strings.Contains(reason, "client-side throttling") {
				add(seconds(value(line, "delay")), value(line, "verb"), cmp.Or(value(line, "URL"), value(line, "url")))
			} else if strings.Contains(line, "retry-reason") {
				l.retried(number, line, value(line, "verb"), cmp.Or(value(line, "URL"), value(line, "url")))
			}
		}
		for _, m := range retryAfterLine.FindAllStringSubmatch(line, -1) {
			l.toldToWait(number, m[1], m[2])
		}
		if retryAfterKeys.MatchString(line) {
			l.toldToWait(number, value(line, "delay"), cmp.Or(value(line, "url"), value(line, "URL")))
		}
		l.givenUp += int64(len(givenUpLine.FindAllStringIndex(line, -1)))
		if before == len(l.waits)+len(l.retries)+int(l.givenUp) && !strings.Contains(line, "context canceled") && len(l.bad) < mostDumpErrors {
			l.bad.Add(document.Position{File: file, Line: number}, "", "the line is about a wait of a client, and is cut off or changed; want it as client-go logs it")
		}
	}
	return l
}

// seconds returns a duration as text. Loggers that write JSON may write it as a number: of seconds or, from a million on, of
// nanoseconds.
func seconds(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case n >= 1e6:
		return strconv.FormatInt(int64(n), 10) + "ns"
	}
	return text + "s"
}

// retried adds a request that is sent again, with the reason.
func (l *clientLog) retried(number int, reason, method, url string) {
	m := retryReason.FindStringSubmatch(reason)
	if m == nil {
		return
	}
	verb, what, eviction := asked(method, url)
	r := clientRetry{line: number, verb: verb, what: what, uid: m[2], eviction: eviction}
	r.after, _ = time.ParseDuration(m[1])
	switch {
	case strings.Contains(m[0], "server-side"):
		r.status = 429
	case m[3] != "":
		r.status, _ = strconv.Atoi(m[3])
	default:
		r.broken = true
	}
	l.retries = append(l.retries, r)
}

// toldToWait adds an answer with Retry-After, whose status the line does not have.
func (l *clientLog) toldToWait(number int, after, url string) {
	d, err := time.ParseDuration(after)
	if err != nil || url == "" {
		return
	}
	_, what, eviction := asked("", url)
	l.retries = append(l.retries, clientRetry{line: number, what: what, after: d, eviction: eviction})
}

// discovery stands for the requests by which a client asks what a server serves.
const discovery = "discovery"

// asked says what a request asks for.
func asked(method, url string) (verb, what string, eviction bool) {
	if url == "" {
		return strings.ToLower(method), "", false
	}
	path, query, err := request.SplitURI(strings.TrimRight(url, ".,;)]"))
	if err != nil || method != "" && strings.ToUpper(method) != method {
		return strings.ToLower(method), url, false
	}
	info, err := request.ReadURL(cmp.Or(method, "GET"), path, query)
	if method == "" {
		info.Verb = ""
	}
	switch parts := strings.Split(strings.Trim(path, "/"), "/"); {
	case err != nil:
		return strings.ToLower(method), path, false
	case info.Resource != "":
		what = info.Resource
		if info.APIGroup != "" {
			what += "." + info.APIGroup
		}
		if info.Subresource != "" {
			what += "/" + info.Subresource
		}
		return info.Verb, what, info.Subresource == "eviction"
	case (parts[0] == "api" || parts[0] == "apis") && len(parts) <= 3 || parts[0] == "openapi":
		return info.Verb, discovery, false
	}
	return info.Verb, path, false
}

var (
	klogMoment = regexp.MustCompile(`[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d+)`)
	isoMoment  = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?`)
)

// momentOf returns when a line was written: as klog says, or the first time in it.
func momentOf(line string) time.Time {
	if m := klogMoment.FindStringSubmatch(line); m != nil {
		if t, err := time.Parse("01-02 15:04:05", m[1]+"-"+m[2]+" "+m[3]); err == nil {
			return t
		}
	}
	text := isoMoment.FindString(line)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// everyWait reports whether the log has all waits of more than 50 ms, and not only samples of the long ones.
func (l *clientLog) everyWait() bool {
	return slices.ContainsFunc(l.waits, func(w clientWait) bool { return w.wait < time.Second })
}

// leastInARow is how many waits one after another show the rate of a client.
const leastInARow = 10

// rate returns how many requests per second the client sent while they waited: the rate of the longest row of waits in which the
// next one had begun before the last one ended. It is 0 if the log has no such row, or only samples.
func (l *clientLog) rate() float64 {
	if !l.everyWait() {
		return 0
	}
	ended := slices.DeleteFunc(slices.Clone(l.waits), func(w clientWait) bool { return w.moment.IsZero() })
	slices.SortStableFunc(ended, func(a, b clientWait) int { return a.moment.Compare(b.moment) })
	best, rate := leastInARow-1, 0.0
	for i := 0; i < len(ended); {
		k := i + 1
		for k < len(ended) && ended[k].moment.Sub(ended[k-1].moment) < ended[k].wait+50*time.Millisecond {
			k++
		}
		if n, took := k-1-i, ended[k-1].moment.Sub(ended[i].moment).Seconds(); n > best && took > 0 {
			best, rate = n, float64(n)/took
		}
		i = k
	}
	return rate
}

// waitGroup are the waits of requests of one verb for one thing.
type waitGroup struct {
	verb, what      string
	n               int64
	median, longest time.Duration
}

// groups returns the waits by verb and what they ask for, the longest first.
func (l *clientLog) groups() (all []waitGroup) {
	type key struct{ verb, what string }
	by := map[key][]time.Duration{}
	for _, w := range l.waits {
		k := key{w.verb, w.what}
		by[k] = append(by[k], w.wait)
	}
	for k, waits := range by {
		slices.Sort(waits)
		all = append(all, waitGroup{k.verb, k.what, int64(len(waits)), waits[(len(waits)-1)/2], waits[len(waits)-1]})
	}
	slices.SortFunc(all, func(a, b waitGroup) int {
		return cmp.Or(-cmp.Compare(a.longest, b.longest), cmp.Compare(a.what, b.what), cmp.Compare(a.verb, b.verb))
	})
	return all
}
