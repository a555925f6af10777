package reports_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/collect"
	"apfsim/reports/record"
	"apfsim/sim"
)

// dumped is a row of dump_requests as the request log has it, in the order of arrival.
type dumped struct {
	line
	Flow string
}

// dumpsAt runs the motley scenario and returns its request log and the folder with its
// dumps, which it makes at the given moments.
func dumpsAt(t *testing.T, atNs ...int64) (log []dumped, folder string) {
	t.Helper()
	sc := loadOne(t, motley)
	run := sim.New(sc)
	dir := t.TempDir()
	collector := collect.New(sc, run.Server, 5e6)
	run.Observe(collector.Observer())
	recorder, err := record.NewDumps(sc, run.Servers(), output.Epoch, atNs)
	if err != nil {
		t.Fatal(err)
	}
	run.Observe(recorder.Observer())
	var lines bytes.Buffer
	requests := record.NewRequestLog(&lines, sc)
	run.Observe(requests.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := requests.Close(); err != nil {
		t.Fatal(err)
	}
	if found, _ := os.ReadDir(dir); len(found) > 0 {
		t.Errorf("%v is there before the run is over", found)
	}
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, collector.Result(), recorder, nil); err != nil {
		t.Fatal(err)
	}
	for one := range bytes.Lines(lines.Bytes()) {
		l := dumped{line: line{DispatchNs: -1, FinishNs: -1}}
		if err := json.Unmarshal(one, &l); err != nil {
			t.Fatal(err)
		}
		log = append(log, l)
	}
	return log, filepath.Join(dir, "crowded", record.DumpFolder)
}

// rows reads a dump as any program reads CSV, without its header.
func rows(t *testing.T, folder string, at time.Duration, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, at.String(), name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	reader := csv.NewReader(bytes.NewReader(text))
	reader.TrimLeadingSpace = true
	all, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all[1:]
}

// At two moments, the dumps have just those requests that, by the log, wait or execute
// then, and count those that went before.
func TestDumpsAreWhatTheRequestLogSays(t *testing.T) {
	moments := []time.Duration{12345 * time.Millisecond, 30 * time.Second}
	log, folder := dumpsAt(t, int64(moments[1]), int64(moments[0]), int64(moments[1]))
	for _, moment := range moments {
		at := int64(moment)
		type counts struct{ waiting, executing, dispatched, rejected, timedOut int }
		levels := map[string]*counts{}
		pending := map[string]int{}
		var want []string
		for _, l := range log {
			if l.PriorityLevel == "" || l.ArrivalNs >= at {
				continue
			}
			c := levels[l.PriorityLevel]
			if c == nil {
				c = &counts{}
				levels[l.PriorityLevel] = c
			}
			dispatched := l.DispatchNs >= 0 && l.DispatchNs < at
			queue := fmt.Sprintf("%s %d", l.PriorityLevel, l.Queue)
			index, started := -1, "0001-01-01T00:00:00Z"
			switch {
			case dispatched && l.FinishNs >= 0 && l.FinishNs < at:
				c.dispatched++
				continue
			case dispatched:
				c.dispatched++
				c.executing++
				started = output.Epoch.Add(time.Duration(l.DispatchNs)).Format(time.RFC3339Nano)
			case l.Outcome == "rejected" && l.ArrivalNs+l.WaitNs < at:
				c.rejected++
				if l.Reason == "time-out" {
					c.timedOut++
				}
				continue
			default:
				c.waiting++
				index = pending[queue]
				pending[queue]++
			}
			_, distinguisher, _ := strings.Cut(l.Flow, "/")
			want = append(want, strings.Join([]string{l.PriorityLevel, l.FlowSchema, strconv.Itoa(l.Queue), strconv.Itoa(index),
				distinguisher, output.Epoch.Add(time.Duration(l.ArrivalNs)).Format(time.RFC3339Nano), strconv.Itoa(l.Seats),
				strconv.Itoa(l.FinalSeats), time.Duration(l.AdditionalLatencyNs).String(), started}, " "))
		}
		var got []string
		executing := map[string]int{}
		for _, row := range rows(t, folder, moment, "dump_requests") {
			got = append(got, strings.Join(row, " "))
			if row[3] == "-1" {
				executing[row[0]+" "+row[2]]++
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d requests, want %d\n%s\nwant\n%s", moment, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(pending) < 10 || len(executing) < 4 {
			t.Errorf("%s: something waits in %d queues, and of %d something executes: too few to tell", moment, len(pending), len(executing))
		}
		for _, row := range rows(t, folder, moment, "dump_queues") {
			queue := row[0] + " " + row[1]
			if row[2] != strconv.Itoa(pending[queue]) || row[3] != strconv.Itoa(executing[queue]) {
				t.Errorf("%s: queue %s: %v, want %d waiting and %d executing", moment, queue, row, pending[queue], executing[queue])
			}
		}
		for _, row := range rows(t, folder, moment, "dump_priority_levels") {
			c := levels[row[0]]
			if c == nil {
				c = &counts{}
			}
			active := 0
			for queue := range pending {
				if strings.HasPrefix(queue, row[0]+" ") {
					active++
				}
			}
			want := strings.Join([]string{row[0], strconv.Itoa(active), strconv.FormatBool(c.waiting+c.executing == 0), "false", strconv.Itoa(c.waiting),
				strconv.Itoa(c.executing), strconv.Itoa(c.dispatched), strconv.Itoa(c.rejected), "0", strconv.Itoa(c.timedOut)}, " ")
			if got := strings.Join(row, " "); got != want {
				t.Errorf("%s: %s\nwant %s", moment, got, want)
			}
		}
	}
}
