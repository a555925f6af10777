package reports

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"apfsim/core/queueset"
)

// seriesColumns are the columns of series.csv.
var seriesColumns = []string{
	"priorityLevel", "startSeconds", "endSeconds", "seatsInUse", "executingRequests", "waitingRequests",
	"waitingSeats", "currentLimitSeats", "arrived", "dispatched", "rejectedQueueFull",
	"rejectedConcurrencyLimit", "rejectedTimeOut", "jain",
	"workload", "waitP50Seconds", "waitP99Seconds", "oldestWaitSeconds", "marks",
}

// WriteSeries writes the series of a run as CSV: one row for each priority level and interval,
// and below them one for each workload and interval. What a row does not have is empty.
func WriteSeries(w io.Writer, r *Result) error {
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
				limit = decimal(p.CurrentLimit)
			}
			if p.Jain != nil {
				jain = decimal(*p.Jain)
			}
			row = append(row[:0], s.Level, decimal(float64(p.StartNs)/1e9), decimal(float64(p.EndNs)/1e9),
				decimal(p.SeatsInUse), decimal(p.ExecutingRequests), decimal(p.WaitingRequests), decimal(p.WaitingSeats),
				limit, strconv.FormatInt(p.Arrived, 10), strconv.FormatInt(p.Dispatched, 10),
				strconv.FormatInt(p.Rejected[queueset.QueueFull], 10),
				strconv.FormatInt(p.Rejected[queueset.ConcurrencyLimit], 10),
				strconv.FormatInt(p.Rejected[queueset.TimedOut], 10), jain, "", "", "", "", "")
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	for _, s := range r.Courses {
		for i := range s.Points {
			p := &s.Points[i]
			p50, p99 := "", ""
			if p.Waits > 0 {
				p50, p99 = seconds(p.WaitP50Ns), seconds(p.WaitP99Ns)
			}
			row = append(row[:0], "", decimal(float64(p.StartNs)/1e9), decimal(float64(p.EndNs)/1e9), "", "", "", "", "",
				strconv.FormatInt(p.Arrived, 10), strconv.FormatInt(p.Dispatched, 10),
				strconv.FormatInt(p.Rejected[queueset.QueueFull], 10),
				strconv.FormatInt(p.Rejected[queueset.ConcurrencyLimit], 10),
				strconv.FormatInt(p.Rejected[queueset.TimedOut], 10), "",
				s.Workload, p50, p99, seconds(p.OldestWaitNs), strings.Join(s.markTexts(i), "; "))
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// seconds writes a duration to the nanosecond.
func seconds(ns int64) string { return trimmed(strconv.FormatFloat(float64(ns)/1e9, 'f', 9, 64)) }

// decimal writes a number to the last digit that matters here.
func decimal(x float64) string {
	return trimmed(strconv.FormatFloat(x, 'f', 6, 64))
}

// trimmed leaves out the zeros at the end of a fraction.
func trimmed(text string) string {
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text
}
