package render

import (
	"encoding/csv"
	"io"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// serverColumns are the columns of servers.csv.
var serverColumns = []string{
	"server", "priorityLevel", "startSeconds", "endSeconds", "stage", "seatsInUse", "currentLimitSeats",
	"executingRequests", "waitingRequests", "arrived", "dispatched", "executed", "rejected", "refused", "lost",
	"inService", "speed", "memoryBytes", "connections", "watchEvents", "stalenessSeconds",
}

// CSVServers writes the series of the servers as CSV: for each server a row for each interval, and
// below them one for each of its priority levels and interval. Fields that do not apply to a row are
// empty, and so are gauges that the run does not have.
func CSVServers(w io.Writer, all []*result.ServerSeries) error {
	out := csv.NewWriter(w)
	out.Write(serverColumns) // Error returns the first error of all writes
	for _, s := range all {
		name := strconv.Itoa(s.Server)
		for i := range s.Points {
			p := &s.Points[i]
			out.Write([]string{name, "", secondsField(p.StartNs), secondsField(p.EndNs), p.Stage.String(),
				format.Decimal(p.SeatsInUse), format.Decimal(p.Limit), format.Decimal(p.ExecutingRequests), format.Decimal(p.WaitingRequests),
				countField(p.Arrived), "", countField(p.Executed), countField(p.Rejected), countField(p.Refused), countField(p.Lost),
				gaugeField(float64(p.InService)), gaugeField(p.Speed), gaugeField(float64(p.MemoryBytes)), gaugeField(float64(p.Connections)),
				gaugeField(float64(p.WatchEvents)), gaugeField(float64(p.StalenessNs) / 1e9)})
		}
		for _, l := range s.Levels {
			if l.Quiet() {
				continue
			}
			for i := range l.Points {
				p := &l.Points[i]
				limit := ""
				if l.Limited {
					limit = format.Decimal(p.CurrentLimit)
				}
				out.Write([]string{name, l.Level, secondsField(p.StartNs), secondsField(p.EndNs), "",
					format.Decimal(p.SeatsInUse), limit, format.Decimal(p.ExecutingRequests), format.Decimal(p.WaitingRequests),
					countField(p.Arrived), countField(p.Dispatched), "", countField(p.RejectedTotal()), "", "", "", "", "", "", "", ""})
			}
		}
	}
	out.Flush()
	return out.Error()
}

func secondsField(ns int64) string { return format.Decimal(float64(ns) / 1e9) }
func countField(n int64) string    { return strconv.FormatInt(n, 10) }

// gaugeField writes a reading that is 0 where there is none.
func gaugeField(x float64) string {
	if x == 0 {
		return ""
	}
	return format.Decimal(x)
}
