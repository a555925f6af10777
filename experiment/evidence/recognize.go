package evidence

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"time"

	"apfsim/experiment/incident"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/serverlog"
)

// kinds are the words for each kind of file.
var kinds = map[incident.Kind]string{
	incident.AuditLog: "an audit log", incident.HTTPLog: "a log of kube-apiserver", incident.Metrics: "metrics",
	incident.QueryRange: "a range query of Prometheus", incident.QueryInstant: "an instant query of Prometheus", incident.TSDBDump: "a dump of Prometheus' database",
	incident.DumpLevels: "a dump of priority levels", incident.DumpQueues: "a dump of queues", incident.DumpRequests: "a dump of requests",
	incident.Objects: "flow-control objects", incident.ClientLog: "the log of a client", incident.APIRequestCount: "APIRequestCount objects",
	incident.Version: "the version of a server", incident.Archive: "an archive",
	incident.Empty: "an empty file", incident.Other: "none of the files that are read",
}

// Words returns what people call a kind of file.
func Words(k incident.Kind) string { return kinds[k] }

// IsLog reports whether a file is a log with the requests of a server.
func IsLog(k incident.Kind) bool { return k == incident.AuditLog || k == incident.HTTPLog }

// HeadBytes is how much of the beginning of a file Recognize needs at most.
const HeadBytes = 256 << 10

// mostLines is how many lines without a request a log may begin with.
const mostLines = 2000

// marks are what shows the kinds other than the logs of servers, in the order in which they are looked for.
var marks = []struct {
	kind incident.Kind
	mark *regexp.Regexp
}{
	{incident.DumpRequests, regexp.MustCompile(`(?m)^[\s>|"]*PriorityLevelName[\s,;|"]+FlowSchemaName\b`)},
	{incident.DumpQueues, regexp.MustCompile(`(?m)^[\s>|"]*PriorityLevelName[\s,;|"]+Index\b`)},
	{incident.DumpLevels, regexp.MustCompile(`(?m)^[\s>|"]*PriorityLevelName[\s,;|"]+ActiveQueues\b`)},
	{incident.TSDBDump, regexp.MustCompile(`\A\s*\{__name__="[^"]*".*\} \S+ -?\d+\r?(\n|\z)`)},
	{incident.QueryRange, regexp.MustCompile(`\A\s*[[{][\s\S]*?"resultType"\s*:\s*"matrix"`)},
	{incident.QueryInstant, regexp.MustCompile(`\A\s*[[{][\s\S]*?"resultType"\s*:\s*"vector"`)},
	{incident.QueryRange, regexp.MustCompile(`\A\s*\[\s*\{\s*"metric"\s*:\s*\{[^{}]*\}\s*,\s*"values"\s*:`)},
	{incident.QueryInstant, regexp.MustCompile(`\A\s*\[\s*\{\s*"metric"\s*:\s*\{[^{}]*\}\s*,\s*"value"\s*:`)},
	{incident.APIRequestCount, regexp.MustCompile(`(?m)^[\s\-{,]*"?kind"?\s*:\s*"?APIRequestCount(List)?\b`)},
	{incident.Objects, regexp.MustCompile(`(?m)["\s\-{,]kind"?\s*:\s*"?(FlowSchema|PriorityLevelConfiguration)(List)?\b|\Akind"?\s*:\s*"?(FlowSchema|PriorityLevelConfiguration)(List)?\b`)},
	{incident.ClientLog, regexp.MustCompile(`client-side throttling|Throttling request took|server-side throttling, FlowSchema UID|Got a Retry-After|client rate limiter Wait returned an error|msg="?"?Waited before sending request`)},
	{incident.Version, regexp.MustCompile(`\A[\s{"]*(major|clientVersion|serverVersion|gitVersion)\b[^:]*:[\s\S]*?gitVersion"?\s*:|(?m)^Server Version: *v`)},
	{incident.Metrics, regexp.MustCompile(`(?m)\A(\s*#[^\n]*\n|\s*\n)*\s*# (HELP|TYPE|EOF)\b|\A(\s*#[^\n]*\n|\s*\n)*[a-zA-Z_:][\w:]*(\{[^\n]*\})?[ \t]+([-+]?[0-9.]+([eE][-+]?[0-9]+)?|NaN|[-+]?Inf)([ \t]+[-0-9.]+([eE][-+]?[0-9]+)?)?[ \t]*(#[^\n]*)?\r?(\n|\z)`)},
}

// Recognize says what a file is by how it begins, at most HeadBytes. It may be compressed with gzip.
func Recognize(head []byte) incident.Kind {
	text, _ := io.ReadAll(io.LimitReader(unpacked(bytes.NewReader(head)), HeadBytes)) // of a part, the end is missing
	if len(bytes.TrimSpace(text)) == 0 {
		return incident.Empty
	}
	if isArchive(text) {
		return incident.Archive
	}
	if kind, found := requestLog(text); found {
		return kind
	}
	for _, m := range marks {
		if m.mark.Match(text) {
			return m.kind
		}
	}
	return incident.Other
}

// RecognizeFile is Recognize for a file, and looks for lines of clients in all of it if it begins with others. It also says whether
// the file is an answer in the place of what was asked for, see [IsAnswer].
func RecognizeFile(open func() (io.ReadCloser, error)) (kind incident.Kind, answer bool, err error) {
	r, err := open()
	if err != nil {
		return "", false, err
	}
	defer r.Close()
	var head bytes.Buffer
	if _, err := io.CopyN(&head, r, HeadBytes); err != nil && err != io.EOF {
		return "", false, err
	}
	kind = Recognize(head.Bytes())
	if kind == incident.Other && hasClientLines(io.MultiReader(bytes.NewReader(head.Bytes()), r)) {
		return incident.ClientLog, false, nil
	}
	return kind, IsAnswer(kind, head.Bytes()), nil
}

// unpacked returns what a file with gzip contains, and other files as they are.
func unpacked(r io.Reader) io.Reader {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		if z, err := gzip.NewReader(buffered); err == nil {
			return z
		}
	}
	return buffered
}

// requestLog reports whether a file is a log with requests of a server, and which.
func requestLog(head []byte) (incident.Kind, bool) {
	year := time.Date(2026, time.July, 2, 12, 0, 0, 0, time.UTC) // any: the times are not used
	r, err := logfile.Open(bytes.NewReader(head), "", logfile.Options{Reference: year})
	if err != nil {
		return "", false
	}
	var e serverlog.Entry
	for range mostLines {
		e.Reset()
		switch err := r.Next(&e); {
		case err == io.EOF:
			return "", false
		case err == nil && e.Log == serverlog.Audit:
			return incident.AuditLog, true
		case err == nil:
			return incident.HTTPLog, true
		}
	}
	return "", false
}
