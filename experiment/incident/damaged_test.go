package incident

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// auditLine and httpLine are the lines of a request in the two logs: with its ID, user, arrival and end.
const (
	auditLine = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"%s","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods/p",` +
		`"verb":"get","user":{"username":"%s","groups":["system:authenticated"]},"sourceIPs":["10.0.0.1"],"userAgent":"a","objectRef":{"resource":"pods","namespace":"n",` +
		`"name":"p","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"%s","stageTimestamp":"%s"}`
	httpLine = `{"ts":%[4]d.5,"msg":"HTTP","verb":"GET","URI":"/api/v1/namespaces/n/pods/p","latency":"%[3]dms","userAgent":"%[2]s","audit-ID":"%[1]s","srcIP":"10.0.0.1:1",` +
		`"apf_pl":"global-default","apf_fs":"global-default","apf_iseats":1,"apf_fseats":0,"apf_additionalLatency":"0s","apf_execution_time":"1ms","resp":200}`
)

// damagedLog is a log before it is damaged: its lines, and what is done to all of them together.
type damagedLog struct {
	*rand.Rand
	id, user      []string
	arrive, end   []time.Time
	lines         []string // once they are written
	whole         func([]byte) []byte
	gzipped, wide bool
}

func newDamagedLog(seed uint64) *damagedLog {
	d := &damagedLog{Rand: rand.New(rand.NewPCG(seed, 1)), whole: func(text []byte) []byte { return text }}
	for i := range 3 + d.IntN(20) {
		d.id, d.user = append(d.id, fmt.Sprintf("id-%d", i)), append(d.user, fmt.Sprintf("user-%d", i%3))
		d.arrive = append(d.arrive, time.Date(2026, 6, 1, 10, 0, 0, i*1e7, time.UTC))
		d.end = append(d.end, d.arrive[i].Add(3*time.Millisecond))
	}
	return d
}

// one is one of the lines.
func (d *damagedLog) one() int { return d.IntN(len(d.id)) }

// write writes the lines, in one of the two formats.
func (d *damagedLog) write() {
	http := d.IntN(3) == 0
	for i := range d.id {
		line := fmt.Sprintf(auditLine, d.id[i], d.user[i], d.arrive[i].Format(time.RFC3339Nano), d.end[i].Format(time.RFC3339Nano))
		if http {
			line = fmt.Sprintf(httpLine, d.id[i], d.user[i], d.end[i].Sub(d.arrive[i]).Milliseconds(), d.end[i].UnixMilli())
		}
		d.lines = append(d.lines, line)
	}
}

// nasty are texts within a string of JSON.
var nasty = []string{"", `\u0000`, `\u001b[31m`, `\u0007`, "\x1b]0;x", "\xff\xfe", "\u202e", "`|<b>", "![](//x)", strings.Repeat("n", 3000), `\ud800`, `\n# h`, "\u0085"}

// damagesBefore are what can be wrong with the requests, and damagesAfter with the text of their lines.
var (
	damagesBefore = map[string]func(*damagedLog){
		"clock": func(d *damagedLog) {
			i, year := d.one(), []int{1, 1969, 1970, 2020, 2099, 2262, 9999}[d.IntN(7)]
			by := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
			d.arrive[i] = by
			if d.IntN(2) == 0 {
				d.end[i] = by.Add(time.Millisecond)
			}
		},
		"ends": func(d *damagedLog) {
			for range 1 + d.IntN(3) {
				i := d.one()
				d.end[i] = d.arrive[i].Add([]time.Duration{-time.Millisecond, -time.Hour, 0, time.Minute}[d.IntN(4)])
			}
		},
		"IDs": func(d *damagedLog) {
			id := slices.Concat(nasty, []string{"same"})[d.IntN(len(nasty)+1)]
			for range 1 + d.IntN(5) {
				d.id[d.one()] = id
			}
		},
		"names": func(d *damagedLog) {
			for range 1 + d.IntN(5) {
				d.user[d.one()] = nasty[d.IntN(len(nasty))]
			}
		},
	}
	damagesAfter = map[string]func(*damagedLog){
		"order": func(d *damagedLog) {
			d.Shuffle(len(d.lines), func(i, j int) { d.lines[i], d.lines[j] = d.lines[j], d.lines[i] })
		},
		"encodings": func(d *damagedLog) {
			switch i := d.IntN(len(d.lines)); d.IntN(5) {
			case 0:
				d.lines[i] = strings.Repeat("\x00", 1+d.IntN(5000)) + d.lines[i]
			case 1:
				d.lines[0] = "\xef\xbb\xbf" + d.lines[0]
			case 2:
				d.lines[i] += "\r"
			case 3:
				at := d.IntN(len(d.lines[i]))
				d.lines[i] = d.lines[i][:at] + string([]byte{byte(d.IntN(256))}) + d.lines[i][at+1:]
			case 4:
				d.wide = true
			}
		},
		"sizes": func(d *damagedLog) {
			switch i := d.IntN(len(d.lines)); d.IntN(5) {
			case 0:
				d.lines[i] = d.lines[i][:d.IntN(len(d.lines[i]))]
			case 1:
				d.lines[i] = d.lines[i][d.IntN(len(d.lines[i])):]
			case 2:
				d.lines = slices.Insert(d.lines, i, "", " ", "plain text")
			case 3:
				if d.IntN(20) == 0 { // it takes long
					d.lines[i] = strings.Replace(d.lines[i], `"verb"`, `"x":"`+strings.Repeat("x", 1<<20)+`","verb"`, 1)
				}
			case 4:
				d.lines[i] += d.lines[d.IntN(len(d.lines))]
			}
		},
		"gzip": func(d *damagedLog) {
			d.gzipped = true
			kind, at := d.IntN(4), d.Float64()
			d.whole = func(text []byte) []byte {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(text)
				z.Close()
				switch cut := 18 + int(at*float64(b.Len()-18)); kind {
				case 0:
					return b.Bytes()[:cut]
				case 1:
					return append(b.Bytes(), "something else"...)
				case 2:
					b.Bytes()[cut-1] ^= 0x10
				}
				return b.Bytes()
			}
		},
	}
)

// Whatever two things are wrong with a log, it is imported, or an error says why not. Each of its lines is counted: as one of a
// request, as a bad one, or as not about a request. Nothing that is printed has control characters.
func TestDamagedLogs(t *testing.T) {
	settings, err := ReadSettings(nil, "", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var before, after []string
	for name := range damagesBefore {
		before = append(before, name)
	}
	for name := range damagesAfter {
		after = append(after, name)
	}
	slices.Sort(before)
	slices.Sort(after)
	imported, logs := 0, some(200, 2000)
	for seed := range uint64(logs) {
		d := newDamagedLog(seed)
		damages := []string{slices.Concat(before, after)[d.IntN(len(before)+len(after))], slices.Concat(before, after)[d.IntN(len(before)+len(after))]}
		for _, name := range damages {
			if damage := damagesBefore[name]; damage != nil {
				damage(d)
			}
		}
		d.write()
		for _, name := range damages {
			if damage := damagesAfter[name]; damage != nil {
				damage(d)
			}
		}
		text := []byte(strings.Join(d.lines, "\n"))
		if d.wide {
			wide := make([]byte, 0, 2*len(text))
			for _, c := range text {
				wide = append(wide, c, 0)
			}
			text = wide
		}
		at := fmt.Sprintf("log %d, with wrong %v", seed, damages)
		source := requests.Text("a.log", d.whole(text), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), logfile.Options{})
		o := *settings
		report, _, err := ImportInMemory(t.Context(), Options{Sources: []requests.Source{source}, Settings: &o, Dir: "a"}, 1<<30)
		if err != nil {
			printable(t, at, err.Error())
			continue
		}
		imported++
		var b bytes.Buffer
		if err := render.Text(&b, report.Document("", ""), format.TextOptions{Width: 100}); err != nil {
			t.Fatal(err)
		}
		printable(t, at, b.String())
		f := report.Files[0]
		whole := int64(bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1)
		if counted := f.Entries + f.LeftOut + f.BadLines; !d.gzipped && (counted != whole || f.Lines != whole) || d.gzipped && (counted < f.Lines || counted > f.Lines+1) {
			t.Errorf("%s: %d lines of requests, %d of none, %d bad ones, of %d; want %d", at, f.Entries, f.LeftOut, f.BadLines, f.Lines, whole)
		}
		if e := report.Entries; e.Total != f.Entries || e.Total != e.Joined+e.Duplicates || f.Audit+f.HTTP != f.Entries {
			t.Errorf("%s: %+v of %d lines of requests", at, e, f.Entries)
		}
	}
	if imported < logs/2 {
		t.Errorf("%d of %d logs were imported", imported, logs)
	}
}

// printable reports characters that a terminal would obey.
func printable(t *testing.T, at, text string) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("%s: %q", at, text[max(0, i-40):min(len(text), max(0, i)+20)])
	}
}
