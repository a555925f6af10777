package render

import (
	"encoding/csv"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// flowColumns are the columns of flows.csv before those of the distributions.
var flowColumns = []string{
	"priorityLevel", "flowSchema", "flow", "hand", "arrived", "executed", "rejected", "rejectedQueueFull",
	"rejectedConcurrencyLimit", "rejectedTimeOut", "retries", "waiting", "executing", "lost", "lostExecuted",
	"serviceSeatSeconds", "demandSeatSeconds", "fairShareSeatSeconds", "ratio", "starvationSeconds",
}

// timedColumns are the beginnings of the names of the columns of the distributions.
var timedColumns = [measure.Timings]string{
	measure.Wait: "wait", measure.Execution: "execution", measure.Latency: "latency", measure.RejectedWait: "rejectedWait",
}

func flowHead() []string {
	head := slices.Clone(flowColumns)
	for _, timing := range timedColumns {
		head = append(head, timing+"Count")
		for _, statistic := range []string{"Mean", "Min", "P50", "P90", "P95", "P99", "P99_9", "Max"} {
			head = append(head, timing+statistic+"Seconds")
		}
	}
	return head
}

// IsCSVFlows says whether a line is the first of a file of flows.
func IsCSVFlows(line string) bool { return line == strings.Join(flowHead(), ",") }

// CSVFlows writes a row for each flow of a run.
func CSVFlows(w io.Writer, flows iter.Seq[*result.Flow]) error {
	out := csv.NewWriter(w)
	row := flowHead()
	out.Write(row) // Error returns the first error of all writes
	seconds := func(ns int64) string { return format.Decimal(float64(ns) / 1e9) }
	for f := range flows {
		hand := make([]string, len(f.Hand))
		for i, queue := range f.Hand {
			hand[i] = strconv.Itoa(queue)
		}
		row = append(row[:0], f.PriorityLevel, f.FlowSchema, f.Name, strings.Join(hand, " "))
		for _, n := range []int64{f.Arrived, f.Executed, f.Rejected, f.QueueFull, f.ConcurrencyLimit, f.TimedOut,
			f.Retries, f.Waiting, f.Executing, f.Lost, f.LostExecuted} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		ratio := ""
		if f.Ratio != nil {
			ratio = format.Decimal(*f.Ratio)
		}
		row = append(row, format.Decimal(f.ServiceSeatSeconds), format.Decimal(f.DemandSeatSeconds), format.Decimal(f.FairShareSeatSeconds),
			ratio, seconds(f.StarvationNs))
		for t := range timedColumns {
			d := *f.Distribution(measure.Timing(t))
			if d == nil {
				row = append(row, "0", "", "", "", "", "", "", "", "")
				continue
			}
			row = append(row, strconv.FormatInt(d.Count, 10))
			for _, ns := range []int64{d.MeanNs, d.MinNs, d.P50Ns, d.P90Ns, d.P95Ns, d.P99Ns, d.P999Ns, d.MaxNs} {
				row = append(row, seconds(ns))
			}
		}
		if out.Write(row) != nil {
			break
		}
	}
	out.Flush()
	return out.Error()
}
