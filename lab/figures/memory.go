package main

import (
	"fmt"
	"math"
)

// The units of BenchmarkMemory.
const (
	peakBytes = "peak-B"
	liveBytes = "live-B"
)

// memory returns a section with a table of the memory of a run, and the bytes for each client and
// each flow.
func memory(input string) (section, error) {
	all, rounds, err := read(input, "Memory", peakBytes, liveBytes)
	if err != nil {
		return section{}, err
	}
	rows := [][]string{{"", "", "resident", "live"}}
	for _, s := range all {
		title := s.axis
		for i := range s.points {
			p := &s.points[i]
			rows = append(rows, []string{title, grouped(float64(p.size)), megabytes(p.median(peakBytes)), megabytes(p.median(liveBytes))})
			title = ""
		}
	}
	requests, err := axisNamed(all, "requests", 2)
	if err != nil {
		return section{}, err
	}
	clients, err := axisNamed(all, "clients", 2)
	if err != nil {
		return section{}, err
	}
	flows, err := axisNamed(all, "flows", 2)
	if err != nil {
		return section{}, err
	}
	first, last := &requests.points[0], &requests.points[len(requests.points)-1]
	text := fmt.Sprintf("%s; rounds: %d.\n\n%s\n"+
		"Resident memory of a run of %s requests, compared with one of %s: %+d %%. By the slope over the sizes, a client takes %s bytes "+
		"of live memory (%s resident), and a client with its own flow %s (%s resident).\n",
		machine(input), rounds, table(rows),
		grouped(float64(last.size)), grouped(float64(first.size)), int(math.Round(100*(last.median(peakBytes)/first.median(peakBytes)-1))),
		grouped(clients.slope(liveBytes)), grouped(clients.slope(peakBytes)),
		grouped(flows.slope(liveBytes)), grouped(flows.slope(peakBytes)))
	return section{text: text}, nil
}

func megabytes(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }
