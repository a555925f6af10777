package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// listSeats are the seats of every list in the columns of the published table.
var listSeats = [...]int{1, 10, 100}

// listRow is a row of the table of kubernetes/kubernetes issue 132233, or what is simulated of it.
type listRow struct {
	objects, bytes int64
	rate           float64 // lists per second
	cores          float64 // that work on average, at 1 seat
	cpuSeconds     float64 // per list, at 1 seat

	memoryGB, errors [len(listSeats)]float64 // for listSeats; errors are a share of the lists
}

// listCosts writes the table of CSV with published rows beside what the scenarios list-cost-table and
// list-cost-table-in-flight give for each of them.
func listCosts(input string) (section, error) {
	published, err := readListRows(input)
	if err != nil {
		return section{}, err
	}
	simulated := make([]listRow, len(published))
	for i := range published {
		if simulated[i], err = simulateListRow(&published[i]); err != nil {
			return section{}, err
		}
	}
	return section{text: listCostTables(published, simulated)}, nil
}

// readListRows reads the published rows, whose header names the fields.
func readListRows(input string) (all []listRow, err error) {
	lines, err := csv.NewReader(strings.NewReader(input)).ReadAll()
	if err != nil {
		return nil, err
	}
	const columns = 4 + 2*len(listSeats)
	if len(lines) < 2 || len(lines[0]) != columns {
		return nil, fmt.Errorf("want rows of %d columns", columns)
	}
	for _, line := range lines[1:] {
		var numbers [columns]float64
		for i, text := range line {
			if numbers[i], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, err
			}
		}
		row := listRow{objects: int64(numbers[0]), bytes: int64(numbers[1]), rate: numbers[2], cores: numbers[3] / 100}
		row.cpuSeconds = row.cores / row.rate
		for i := range listSeats {
			row.memoryGB[i], row.errors[i] = numbers[4+i], numbers[4+len(listSeats)+i]/100
		}
		all = append(all, row)
	}
	return all, nil
}

// simulateListRow runs the scenarios of a published row at each number of seats.
func simulateListRow(published *listRow) (row listRow, err error) {
	row = listRow{objects: published.objects, bytes: published.bytes, rate: published.rate}
	for i, seats := range listSeats {
		set := []string{fmt.Sprintf("spec.resources[0].objects=%d", row.objects), fmt.Sprintf("spec.resources[0].averageBytes=%d", row.bytes),
			fmt.Sprintf("spec.servers.seats.constant=%d", seats)}
		inFlight, err := statisticsOf("list-cost-table-in-flight", set, "memory{server:0}.max")
		if err != nil {
			return row, err
		}
		row.memoryGB[i] = inFlight[0] / 1e9
		set = append(set, fmt.Sprintf("spec.workload[0].arrivals.poisson.rate=%v/s", row.rate))
		atRate, err := statisticsOf("list-cost-table", set, "notServed.rate", "cpu{server:0}.cores", "cpu{server:0}.seconds", "arrived.count")
		if err != nil {
			return row, err
		}
		row.errors[i] = atRate[0]
		if i == 0 {
			row.cores, row.cpuSeconds = atRate[1], atRate[2]/atRate[3]
		}
	}
	return row, nil
}

// statisticsOf runs a scenario of the library with assignments, and returns some of its statistics.
func statisticsOf(name string, set []string, statistics ...string) (values []float64, err error) {
	all, mistakes := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{Set: assign.New("--set", set)})
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, errors.New(name + " is not one scenario")
	}
	run := sim.New(all[0])
	m := collect.Measure(run, 1_000_000_000)
	if err := run.Execute(context.Background(), nil); err != nil {
		return nil, err
	}
	found := result.ListStatistics(m.Result().Summary, false)
	for _, text := range statistics {
		i, err := result.FindStatistic(found, text)
		if err != nil {
			return nil, err
		}
		values = append(values, found[i].Value)
	}
	return values, nil
}

// listFigures counts figures, and those of them that are inside of their intervals.
type listFigures struct{ inside, all int }

// word counts a figure, and says whether it is inside.
func (f *listFigures) word(inside bool) string {
	f.all++
	if !inside {
		return "**outside**"
	}
	f.inside++
	return "inside"
}

// fairCPU is the factor by which the processor time of a list may differ from the published one.
func (r *listRow) fairCPU() float64 {
	if r.objects*r.bytes < 1_000_000 {
		return 2
	}
	return 1.5
}

// fairMemory says whether the memory at 1 seat over that at 100 seats is judged: in the rows of 10 MB.
func (r *listRow) fairMemory() bool { return r.objects*r.bytes == 10_000_000 }

func (r *listRow) memoryRatio() float64 { return r.memoryGB[0] / r.memoryGB[len(listSeats)-1] }

// listCostTables writes the tables.
func listCostTables(published, simulated []listRow) string {
	var figures listFigures
	size := func(bytes int64) string {
		if bytes >= 1_000_000 {
			return fmt.Sprintf("%d MB", bytes/1_000_000)
		}
		return fmt.Sprintf("%d kB", bytes/1000)
	}
	three := func(of [len(listSeats)]float64, text func(float64) string) string {
		texts := make([]string, len(of))
		for i, x := range of {
			texts[i] = text(x)
		}
		return strings.Join(texts, " / ")
	}
	gigabytes := func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) }
	rows := [][]string{{"Answer", "Objects", "Lists/s", "CPU per list, published", "Simulated", "Simulated / published", "Fair", ""}}
	memory := [][]string{{"Answer", "Objects", "GB at 1 / 10 / 100 seats, published", "Simulated", "At 1 over 100, published", "Simulated", "Fair", ""}}
	failed := [][]string{{"Answer", "Objects", "% at 1 / 10 / 100 seats, published", "Simulated", "None at 1 seat", "More at 100 than at 10"}}
	for i := range published {
		p, s := &published[i], &simulated[i]
		answer := size(p.objects * p.bytes)
		objects := strings.ReplaceAll(format.Whole(p.objects), ",", " ") + " × " + size(p.bytes)
		ratio, fair := s.cpuSeconds/p.cpuSeconds, p.fairCPU()
		rows = append(rows, []string{answer, objects, format.Digits(p.rate), format.Duration(p.cpuSeconds * 1e9), format.Duration(s.cpuSeconds * 1e9),
			strconv.FormatFloat(ratio, 'f', 2, 64), fmt.Sprintf("×/÷ %v", fair), figures.word(ratio <= fair && ratio >= 1/fair)})
		line := []string{answer, objects, three(p.memoryGB, gigabytes), three(s.memoryGB, gigabytes),
			strconv.FormatFloat(p.memoryRatio(), 'f', 1, 64), strconv.FormatFloat(s.memoryRatio(), 'f', 1, 64), "not judged", ""}
		if p.fairMemory() {
			line[6], line[7] = "5–20", figures.word(s.memoryRatio() >= 5 && s.memoryRatio() <= 20)
		}
		memory = append(memory, line)
		failed = append(failed, []string{answer, objects, three(p.errors, percent), three(s.errors, percent),
			figures.word(s.errors[0] == 0), figures.word(s.errors[2] > s.errors[1])})
	}
	return fmt.Sprintf("%d of %d figures are inside.\n\n### Processor time of a list\n\n%s\n### Memory\n\n%s\n### Errors\n\n%s",
		figures.inside, figures.all, table(rows), table(memory), table(failed))
}
