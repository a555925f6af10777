package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"apfsim/document"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const exampleLine = `{"id":17,"arrivalNs":1200450,"user":"alice","groups":["system:authenticated"],` +
	`"verb":"list","apiGroup":"","resource":"pods","subresource":"","namespace":"default",` +
	`"name":"","path":"/api/v1/namespaces/default/pods","query":"limit=500",` +
	`"executionNs":12000000,"watchNs":0}`

// readTrace reads a whole trace: its records, and what each mistake says.
func readTrace(text string) (records []Record, mistakes []string) {
	t := NewReader(strings.NewReader(text), "t.jsonl")
	for {
		r, ok, err := t.Next()
		switch {
		case err != nil:
			mistakes = append(mistakes, err.(document.Error).Error())
		case !ok:
			return records, mistakes
		default:
			records = append(records, *r)
		}
	}
}

func TestTraceOfOneRequest(t *testing.T) {
	records, mistakes := readTrace(exampleLine + "\n")
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	want := []Record{{ID: 17, ArrivalNs: 1200450, User: "alice", Groups: []string{"system:authenticated"},
		Verb: "list", Resource: "pods", Namespace: "default", Path: "/api/v1/namespaces/default/pods",
		Query: "limit=500", ExecutionNs: 12000000}}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestTraceRequestsAreSeenAsTheyStand(t *testing.T) {
	r := Record{User: "system:serviceaccount:a:b", Groups: []string{"g"}, Verb: "get", APIGroup: "apps", Resource: "deployments",
		Namespace: "n", Name: "d", Subresource: "scale"}
	a := r.Attributes()
	if want := "/apis/apps/v1/namespaces/n/deployments/d/scale"; a.Path != want || a.User != r.User || len(a.Groups) != 1 {
		t.Errorf("seen as %+v, want path %s and no other groups", a, want)
	}
	r.Path = "/apis/apps/v1beta1/x"
	if got := r.Attributes().Path; got != r.Path {
		t.Errorf("path %s, want the trace's own, %s", got, r.Path)
	}
}

func TestTraceCopiesStayValid(t *testing.T) {
	line := func(at int, user, group string) string {
		return fmt.Sprintf(`{"arrivalNs":%d,"user":%q,"groups":[%q,"b"],"verb":"get","path":"/version","executionNs":1}`+"\n", at, user, group)
	}
	records, mistakes := readTrace(line(1, "alice", "a") + line(2, "alice", "a") + "\n" + line(3, "bob", "z"))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprintln(r.ID, r.ArrivalNs, r.User, r.Groups))
	}
	want := []string{"1 1 alice [a b]\n", "2 2 alice [a b]\n", "4 3 bob [z b]\n"} // the id is the line's number
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestRequestLogIsATrace(t *testing.T) {
	log := strings.TrimSuffix(exampleLine, "}") + `,"workload":"mice","client":3,"flowSchema":"s","priorityLevel":"l",` +
		`"flow":"s/alice","queue":-1,"outcome":"rejected","reason":"queue-full","attempt":1,"dispatchNs":1,"finishNs":2,` +
		`"waitNs":3,"seats":1,"finalSeats":0,"additionalLatencyNs":0,"retryAfterSeconds":1}`
	records, mistakes := readTrace(log)
	if len(mistakes) > 0 || len(records) != 1 || records[0].ID != 17 {
		t.Errorf("read %+v, mistakes %v", records, mistakes)
	}
}

func TestTraceMistakesHaveTheirPlaces(t *testing.T) {
	good := `{"arrivalNs":5,"verb":"get","path":"/version","executionNs":1}`
	for _, c := range []struct{ name, line, want string }{
		{"cut off", `{"arrivalNs":6,"verb":"ge`, `t.jsonl:2:26: verb: the line is cut off; want "`},
		{"cut off after a name", `{"arrivalNs"`, "t.jsonl:2:13: the line is cut off; want :"},
		{"cut off after a value", `{"arrivalNs":6`, "t.jsonl:2:15: the line is cut off; want , or }"},
		{"cut off in a list", `{"arrivalNs":6,"groups":["a"`, "t.jsonl:2:29: groups: the line is cut off; want , or ]"},
		{"no object", `[1]`, "t.jsonl:2:1: is not valid JSON: '['; want {"},
		{"something behind", good + " {}", "t.jsonl:2:64: is not valid JSON: something follows the object"},
		{"zero byte behind", good + "\x00", "t.jsonl:2:63: is not valid JSON: something follows the object"},
		{"unknown field", `{"arrivalNs":6,"verbs":"get"}`, `t.jsonl:2:16: verbs: unknown field (did you mean "verb"?)`},
		{"another case", `{"ArrivalNs":6}`, `t.jsonl:2:2: ArrivalNs: unknown field (did you mean "arrivalNs"?)`},
		{"twice", `{"verb":"get","verb":"get"}`, "t.jsonl:2:15: verb: duplicate field"},
		{"before the line above", strings.Replace(good, "5", "4", 1),
			"t.jsonl:2:1: arrivalNs: 4 is before the line above, 5: want the requests in order of arrival"},
		{"negative time", `{"arrivalNs":-1}`, "t.jsonl:2:14: arrivalNs: -1 is negative; want nanoseconds, 0 or more"},
		{"negative execution", `{"executionNs": -5}`, "t.jsonl:2:17: executionNs: -5 is negative; want nanoseconds, 0 or more"},
		{"absurd time", `{"arrivalNs":9000000000000000000}`, "t.jsonl:2:14: arrivalNs: 9000000000000000000 is more than 4611686018427387903"},
		{"fraction", `{"arrivalNs":1.5}`, "t.jsonl:2:14: arrivalNs: 1.5 is not a whole number of 64 bits"},
		{"leading zero", `{"arrivalNs":015}`, "t.jsonl:2:14: arrivalNs: 015 is not a whole number of 64 bits"},
		{"string for a number", `{"arrivalNs":"6"}`, `t.jsonl:2:14: arrivalNs: "6": want a whole number`},
		{"number for a string", `{"verb":6}`, "t.jsonl:2:9: verb: 6: want a string"},
		{"object for a list", `{"groups":{"a":1}}`, `t.jsonl:2:11: groups: {"a":1}: want a list of strings`},
		{"no value", `{"verb":}`, "t.jsonl:2:9: verb: is not valid JSON; want a string"},
		{"comma at the end of a list", `{"groups":["a",]}`, "t.jsonl:2:16: groups: is not valid JSON: ']' after a comma"},
		{"comma at the end", `{"verb":"get",}`, `t.jsonl:2:15: is not valid JSON: '}'; want "`},
		{"bad escape", `{"verb":"\x"}`, `t.jsonl:2:9: verb: is not valid JSON: a wrong escape in a string; want one of \" \\ \/ \b \f \n \r \t, or \u with four hexadecimal digits`},
		{"control character", "{\"verb\":\"a\tb\"}", "t.jsonl:2:12: verb: is not valid JSON: a control character in a string"},
		{"not UTF-8", "{\"verb\":\"\xff\"}", "t.jsonl:2:9: verb: is not UTF-8"},
		{"bad value of the log's", `{"seats":[1}`, "t.jsonl:2:10: is not valid JSON"},
		{"no arrival", `{"verb":"get","path":"/version","executionNs":1}`, "t.jsonl:2:1: arrivalNs: is missing"},
		{"no verb", `{"arrivalNs":6,"path":"/version","executionNs":1}`, "t.jsonl:2:1: verb: is missing"},
		{"no execution", `{"arrivalNs":6,"verb":"get","path":"/version"}`, "t.jsonl:2:1: executionNs: is missing"},
		{"no URL encoding", `{"arrivalNs":6,"verb":"get","resource":"pods","query":"limit=%zz","executionNs":1}`,
			`t.jsonl:2:55: query: "limit=%zz" is not in URL encoding: invalid URL escape "%zz"`},
		{"nothing asked", `{"arrivalNs":6,"verb":"get","executionNs":1}`, "t.jsonl:2:1: has neither resource nor path; want one of them"},
		{"too long", `{"user":"` + strings.Repeat("a", longestLine) + `"}`, "t.jsonl:2:1: the line is longer than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, mistakes := readTrace(good + "\n" + c.line)
			if diff := cmp.Diff([]string{c.want}, mistakes); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
			if len(records) != 1 {
				t.Errorf("%d records, want the good one", len(records))
			}
		})
	}
}

func TestTraceGoesOnAfterAMistake(t *testing.T) {
	good := `{"arrivalNs":5,"verb":"get","path":"/version","executionNs":1}` + "\n"
	records, mistakes := readTrace(good + "{\n" + good + "{\"a\":1}\r\n" + good)
	if len(records) != 3 || len(mistakes) != 2 {
		t.Errorf("%d records and mistakes %v, want 3 and 2", len(records), mistakes)
	}
}

// Whatever encoding/json writes is read as encoding/json reads it.
func TestTraceReadsWhatEncodingJSONWrites(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		want := Record{
			ID:        rapid.Int64().Draw(t, "id"),
			ArrivalNs: rapid.Int64Range(0, 1<<61).Draw(t, "arrival"),
			User:      text.Draw(t, "user"),
			Groups:    rapid.SliceOf(text).Draw(t, "groups"),
			Verb:      "v" + text.Draw(t, "verb"),
			APIGroup:  text.Draw(t, "group"), Resource: text.Draw(t, "resource"), Subresource: text.Draw(t, "subresource"),
			Namespace: text.Draw(t, "namespace"), Name: text.Draw(t, "name"), Path: "/" + text.Draw(t, "path"), Query: url.QueryEscape(text.Draw(t, "query")),
			ExecutionNs: rapid.Int64Range(0, 1<<60).Draw(t, "execution"),
			WatchNs:     rapid.Int64Range(0, 1<<60).Draw(t, "watch"),
		}
		line, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		records, mistakes := readTrace(string(line) + "\n" + string(line))
		if len(mistakes) > 0 || len(records) != 2 {
			t.Fatalf("%s: %d records, mistakes %v", line, len(records), mistakes)
		}
		for _, got := range records {
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", line, diff)
			}
		}
	})
}

// readWith reads a trace with a reader that has read others, and returns a line for each record and
// error.
func readWith(r *Reader, text string) (all []string) {
	r.lines = bufio.NewScanner(strings.NewReader(text))
	r.lines.Buffer(nil, longestLine+1)
	r.number, r.lastNs, r.done = 0, 0, false
	for {
		record, ok, err := r.Next()
		switch {
		case err != nil:
			all = append(all, err.Error())
		case !ok:
			return all
		default:
			all = append(all, fmt.Sprintf("%#v", *record))
		}
	}
}

// What a reader remembers of the lines before changes nothing: members that are skipped because their
// kind is known, others of the kind that follow them, and another order of the fields.
func TestLinesAreReadWhateverIsBeforeThem(t *testing.T) {
	whole := exampleLine + "\n"
	log := logLine(0)
	short := strings.Replace(whole, `"subresource":"",`, "", 1)
	for name, line := range map[string]string{
		"another member of the kind": strings.Replace(short, `,"watchNs"`, `,"subresource":"status","watchNs"`, 1),
		"twice":                      strings.Replace(short, `,"watchNs"`, `,"verb":"get","watchNs"`, 1),
		"twice, once in front":       strings.Replace(short, `"id":17`, `"id":17,"user":"bob"`, 1),
		"kind at the end":            `{"arrivalNs":5,"executionNs":1,"verb":"get","path":"/x"}`,
		"cut off":                    short[:strings.Index(short, `,"executionNs"`)] + "\n",
		"no comma":                   strings.Replace(short, `,"executionNs"`, `"executionNs"`, 1),
		"the text within a value":    strings.Replace(short, `"limit=500"`, `"limit=500,\"executionNs\":"`, 1),
		"another flow":               strings.Replace(log, `"flow":"s/alice"`, `"flow":"s/bob"`, 1),
		"a longer flow":              strings.Replace(log, `"flow":"s/alice"`, `"flow":"s/alice,"`, 1),
		"no comma after the flow":    strings.Replace(log, `"flow":"s/alice",`, `"flow":"s/alice"`, 1),
		"the log's fields twice":     strings.Replace(log, `"queue":-1`, `"workload":"mice","client":3,"queue":-1`, 1),
		"the flow without a client":  strings.Replace(log, `,"client":3`, ``, 1),
		"a flow that is no text":     strings.Replace(log, `"flow":"s/alice"`, `"flow":{"a":[1,"flow"]}`, 1),
	} {
		if line == log || line == short {
			t.Fatalf("%s: the line is as the others", name)
		}
		want := readWith(NewReader(nil, "t.jsonl"), line)
		r := NewReader(nil, "t.jsonl")
		for range 3 {
			readWith(r, whole+strings.Replace(whole+short, "1200450", "5000000", 2)+strings.Replace(log+log+log, "1234567890", "5000000", 3))
			if diff := cmp.Diff(want, readWith(r, line)); diff != "" {
				t.Errorf("%s (-alone +after others):\n%s", name, diff)
			}
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add(exampleLine + "\n" + exampleLine)
	f.Add(`{"arrivalNs":1,"groups":null,"verb":"\u00e9\"","path":"/","executionNs":0,"seats":{"a":[1,"]"]}}`)
	f.Add("{\"id\":")
	f.Add("\xef\xbb\xbf{}\n\n[")
	f.Add(logLine(1) + logLine(2) + logLine(1) + shuffled)
	f.Add(strings.Replace(logLine(2), `"executionNs"`, `"verb":"x","executionNs"`, 1))
	f.Add(strings.Replace(shuffled, `"groups"`, `"user": "u", "groups"`, 1) + shuffled)
	warm := NewReader(nil, "t.jsonl")
	for _, text := range lines() {
		readWith(warm, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cold := readWith(NewReader(nil, "t.jsonl"), text)
		for range 2 {
			if diff := cmp.Diff(cold, readWith(warm, text)); diff != "" {
				t.Fatalf("a reader that knows other lines reads others (-cold +warm):\n%s", diff)
			}
		}
		records, _ := readTrace(text)
		last := int64(0)
		for _, r := range records {
			if r.ArrivalNs < last || r.ExecutionNs < 0 || r.WatchNs < 0 || r.Verb == "" {
				t.Fatalf("an invalid record got through: %+v", r)
			}
			last = r.ArrivalNs
		}
		// A line that is taken is what encoding/json takes it for.
		if line, ok := strings.CutSuffix(text, "}"); ok && !strings.Contains(line, "\n") && len(records) == 1 {
			var want Record
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatalf("%q was taken: %v", text, err)
			}
		}
	})
}

// Digits are counted and added up eight at a time, and where fewer follow.
func TestDigits(t *testing.T) {
	for text, want := range map[string]struct {
		n     int
		value int64
	}{"12345678": {8, 12345678}, "00000000": {8, 0}, "99999999": {8, 99999999}, "7,123456": {1, 7}, "1234567}": {7, 1234567},
		",1234567": {0, 0}, "12/45678": {2, 12}, "12:45678": {2, 12}, "123\xff\x00567": {3, 123}, "-1234567": {0, 0}} {
		if n, value := digits(binary.LittleEndian.Uint64([]byte(text))); n != want.n || value != want.value {
			t.Errorf("%q: got %d digits of the value %d, want %v", text, n, value, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{0,20}[,}x/:].{0,12}`).Draw(t, "text")
		l := line{text: []byte(text)}
		end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
		want, err := strconv.ParseInt(text[:end], 10, 64)
		wanted := err == nil && end <= 18 && (end == 1 || text[0] != '0') && (text[end] == ',' || text[end] == '}')
		if n, ok := l.parseDigits(); ok != wanted || ok && (n != want || l.at != end) || !ok && l.at != 0 {
			t.Fatalf("%q: got %d, %v at %d; want %d, %v", text, n, ok, l.at, want, wanted)
		}
	})
}
