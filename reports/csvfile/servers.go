package csvfile

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

// WriteServers writes the series of the servers as CSV: for each server a row for each interval, and
// below them one for each of its priority levels and interval. Fields that do not apply to a row are
// empty, and so are gauges that the run does not have.
func WriteServers(w io.Writer, all []*result.ServerSeries) error {
	out := csv.NewWriter(w)
	out.Write(serverColumns) // Error returns the first error of all writes
	for _, s := range all {
		name := strconv.Itoa(s.Server)
		for i := range s.Points {
			p := &s.Points[i]
			out.Write([]string{name, "", seconds(p.StartNs), seconds(p.EndNs), p.Stage.String(),
				format.Decimal(p.SeatsInUse), format.Decimal(p.Limit), format.Decimal(p.ExecutingRequests), format.Decimal(p.WaitingRequests),
				count(p.Arrived), "", count(p.Executed), count(p.Rejected), count(p.Refused), count(p.Lost),
				gauge(float64(p.InService)), gauge(p.Speed), gauge(float64(p.MemoryBytes)), gauge(float64(p.Connections)),
				gauge(float64(p.WatchEvents)), gauge(float64(p.StalenessNs) / 1e9)})
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
				out.Write([]string{name, l.Level, seconds(p.StartNs), seconds(p.EndNs), "",
					format.Decimal(p.SeatsInUse), limit, format.Decimal(p.ExecutingRequests), format.Decimal(p.WaitingRequests),
					count(p.Arrived), count(p.Dispatched), "", count(p.RejectedTotal()), "", "", "", "", "", "", "", ""})
			}
		}
	}
	out.Flush()
	return out.Error()
}

func seconds(ns int64) string { return format.Decimal(float64(ns) / 1e9) }
func count(n int64) string    { return strconv.FormatInt(n, 10) }

// gauge writes a reading that is 0 where there is none.
func gauge(x float64) string {
	if x == 0 {
		return ""
	}
	return format.Decimal(x)
}
