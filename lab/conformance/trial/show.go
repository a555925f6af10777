package trial

import (
	"fmt"
	"slices"
	"strings"
)

// SideBySide returns the levels, the busy queues and the requests of two snapshots in two columns.
// An exclamation mark marks the lines that differ.
func SideBySide(ours, theirs *Snapshot) string {
	o, u := ours.lines(), theirs.lines()
	var keys []string
	for _, side := range []map[string]string{o, u} {
		for key := range side {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	rows := [][3]string{{"  ", fmt.Sprintf("ours at %d ns", ours.AtNs), fmt.Sprintf("upstream's at %d ns", theirs.AtNs)}}
	width := len(rows[0][1])
	for _, key := range slices.Compact(keys) {
		row := [3]string{"  ", o[key], u[key]}
		if o[key] != u[key] {
			row[0] = "! "
		}
		rows = append(rows, row)
		width = max(width, len(row[1]))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%s%-*s | %s\n", row[0], width, row[1], row[2])
	}
	return b.String()
}

// lines returns the lines of a snapshot, under keys whose order is that of levels and queues.
func (s *Snapshot) lines() map[string]string {
	lines := map[string]string{}
	for _, l := range s.Levels {
		lines[l.Name] = fmt.Sprintf("%s: %d waiting, %d executing, limit %d, %d queues", l.Name, l.Waiting, l.Executing, l.Limit, len(l.Queues))
		for i, q := range l.Queues {
			if q.Pending > 0 || q.Executing > 0 || q.SeatsInUse > 0 {
				lines[fmt.Sprintf("%s/%04d", l.Name, i)] = fmt.Sprintf("  queue %d: %d waiting (seats %d, %d; work %s), %d executing on %d seats, next dispatch R %s",
					i, q.Pending, q.InitialSeatsSum, q.MaxSeatsSum, q.TotalWorkSum, q.Executing, q.SeatsInUse, q.NextDispatchR)
			}
		}
		for _, r := range l.Requests {
			state := "executes"
			if r.Position >= 0 {
				state = "waits"
			}
			lines[fmt.Sprintf("%s/%04d/%020d", l.Name, r.Queue, r.ArrivalNs)] = fmt.Sprintf("    %s since %d: seats %d, then %d for %d ns; %s %s",
				state, r.ArrivalNs, r.Seats, r.FinalSeats, r.AdditionalNs, r.FlowSchema, r.Flow)
		}
	}
	return lines
}
