package render

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"apfsim/core/queueset"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// seriesColumns are the columns of series.csv.
var seriesColumns = []string{
	"priorityLevel", "startSeconds", "endSeconds", "seatsInUse", "executingRequests", "waitingRequests",
	"waitingSeats", "currentLimitSeats", "arrived", "dispatched", "rejectedQueueFull",
	"rejectedConcurrencyLimit", "rejectedTimeOut", "jain",
	"workload", "waitP50Seconds", "waitP99Seconds", "oldestWaitSeconds", "marks",
}

// CSVSeries writes the series of a run as CSV: one row for each priority level and interval,
// and below them one for each workload and interval. Fields that do not apply to a row are empty.
func CSVSeries(w io.Writer, r *result.Result) error {
	out := csv.NewWriter(w)
	row := append([]string(nil), seriesColumns...)
	if err := out.Write(row); err != nil {
		return err
	}
	for _, s := range r.Series {
		if s.Level == "" && s.Quiet() {
			continue
		}
		for i := range s.Points {
			p := &s.Points[i]
			limit, jain := "", ""
			if s.Limited {
				limit = format.Decimal(p.CurrentLimit)
			}
			if p.Jain != nil {
				jain = format.Decimal(*p.Jain)
			}
			row = append(row[:0], s.Level, format.Decimal(float64(p.StartNs)/1e9), format.Decimal(float64(p.EndNs)/1e9),
				format.Decimal(p.SeatsInUse), format.Decimal(p.ExecutingRequests), format.Decimal(p.WaitingRequests), format.Decimal(p.WaitingSeats),
				limit, strconv.FormatInt(p.Arrived, 10), strconv.FormatInt(p.Dispatched, 10),
				strconv.FormatInt(p.Rejected[queueset.QueueFull], 10),
				strconv.FormatInt(p.Rejected[queueset.ConcurrencyLimit], 10),
				strconv.FormatInt(p.Rejected[queueset.TimedOut], 10), jain, "", "", "", "", "")
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	for _, s := range r.WorkloadSeries {
		for i := range s.Points {
			p := &s.Points[i]
			p50, p99 := "", ""
			if p.Waits > 0 {
				p50, p99 = format.Seconds(p.WaitP50Ns), format.Seconds(p.WaitP99Ns)
			}
			row = append(row[:0], "", format.Decimal(float64(p.StartNs)/1e9), format.Decimal(float64(p.EndNs)/1e9), "", "", "", "", "",
				strconv.FormatInt(p.Arrived, 10), strconv.FormatInt(p.Dispatched, 10),
				strconv.FormatInt(p.Rejected[queueset.QueueFull], 10),
				strconv.FormatInt(p.Rejected[queueset.ConcurrencyLimit], 10),
				strconv.FormatInt(p.Rejected[queueset.TimedOut], 10), "",
				s.Workload, p50, p99, format.Seconds(p.OldestWaitNs), strings.Join(s.MarkTexts(i), "; "))
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
