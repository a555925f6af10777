package upstream

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/lab/conformance/trial"
)

// snapshot reads the server's debug dumps and gauges.
func (s *server) snapshot() trial.Snapshot {
	snapshot := trial.Snapshot{AtNs: s.nowNs()}
	limits := Limits(s.t)
	levels := map[string]*trial.Level{}
	var names []string
	for _, row := range s.dump("dump_priority_levels") {
		l := &trial.Level{
			Name: row[0], Limit: limits[row[0]],
			Idle: row[2] == "true", Quiescing: row[3] == "true",
			Waiting: s.number(row[4]), Executing: s.number(row[5]),
		}
		levels[l.Name] = l
		names = append(names, l.Name)
	}
	for _, row := range s.dump("dump_queues") {
		l := levels[row[0]]
		if i := s.number(row[1]); i != len(l.Queues) {
			s.t.Errorf("dump_queues: level %s, queue %d out of order", l.Name, i)
		}
		l.Queues = append(l.Queues, trial.Queue{
			Pending: s.number(row[2]), Executing: s.number(row[3]), SeatsInUse: s.number(row[4]), NextDispatchR: row[5],
			InitialSeatsSum: s.number(row[6]), MaxSeatsSum: s.number(row[7]), TotalWorkSum: row[8],
		})
	}
	for _, row := range s.dump("dump_requests") {
		arrival, err := time.Parse(time.RFC3339Nano, row[5])
		if err != nil {
			s.t.Error(err)
		}
		latency, err := time.ParseDuration(row[8])
		if err != nil {
			s.t.Error(err)
		}
		l := levels[row[0]]
		l.Requests = append(l.Requests, trial.Request{
			Queue: s.number(row[2]), Position: s.number(row[3]), ArrivalNs: int64(arrival.Sub(s.start)),
			FlowSchema: row[1], Flow: row[4],
			Seats: s.number(row[6]), FinalSeats: s.number(row[7]), AdditionalNs: int64(latency),
		})
	}
	for _, name := range names {
		l := levels[name]
		slices.SortFunc(l.Requests, trial.Request.Compare)
		snapshot.Levels = append(snapshot.Levels, *l)
	}
	return snapshot
}

// dump returns the rows of a debug dump, without the header.
func (s *server) dump(name string) [][]string {
	w := httptest.NewRecorder()
	s.debug.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/api_priority_and_fairness/"+name, nil))
	lines := strings.Split(strings.TrimRight(w.Body.String(), "\n"), "\n")
	var rows [][]string
	for _, line := range lines[1:] {
		row := strings.Split(line, ",")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *server) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Errorf("debug dump: %v", err)
	}
	return n
}
