package report

import (
	"fmt"
	"slices"
	"strconv"

	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// serverTable is the table of a run's servers; it has no rows if the summary does not mention any.
func serverTable(s *result.Summary) *Table {
	seconds := windowSeconds(s)
	var connections, lost, refused, inService, memory, processor bool
	for i := range s.Servers {
		server := &s.Servers[i]
		connections = connections || server.MostConnections > 0
		lost, refused = lost || server.Lost > 0, refused || server.Refused > 0
		inService, memory, processor = inService || server.MostInService > 0, memory || server.MostMemoryBytes != nil, processor || server.ProcessorSeconds != nil
	}
	columns := Definition[result.Server]{
		{Column: Column{Title: "Server", Short: "server", Left: true}, Cell: func(v *result.Server) Cell { return Word(v.Name) }},
		{Column: Column{Title: "At the end", Short: "at the end", Left: true}, Cell: func(v *result.Server) Cell { return Word(v.Stage) }},
		{Column: Column{Title: "Ready", Short: "ready", Term: "ready"}, Cell: func(v *result.Server) Cell { return percentCell(v.ReadyShare) }},
		{Column: Column{Title: "Arrived", Short: "arrived", Term: "arrived"}, Cell: func(v *result.Server) Cell { return countCell(v.Arrived) }},
		{Column: Column{Title: "Of all", Short: "of all"}, Cell: func(v *result.Server) Cell { return shareCell(v.Arrived, s.Total.Arrived) }},
		{Column: Column{Title: "Executed/s", Short: "executed/s", Term: "executed"}, Cell: func(v *result.Server) Cell { return rateCell(v.Executed, seconds) }},
		{Column: Column{Title: "Rejected", Short: "rejected", Term: termRejected}, Cell: func(v *result.Server) Cell { return shareCell(v.Rejected, v.Arrived) }},
	}
	optional := func(wanted bool, c Column, cell func(*result.Server) Cell) {
		if wanted {
			columns = append(columns, ColumnOf[result.Server]{Column: c, Cell: cell})
		}
	}
	optional(refused, Column{Title: "Refused", Short: "refused", Term: termRefused}, func(v *result.Server) Cell { return countCell(v.Refused) })
	optional(lost, Column{Title: "Lost", Short: "lost", Term: "lost"}, func(v *result.Server) Cell { return countCell(v.Lost) })
	optional(true, Column{Title: "Seats in use", Short: "seats", Term: "serverSeats"}, func(v *result.Server) Cell { return seatsCell(v, seconds) })
	optional(true, Column{Title: "Waiting", Short: "waiting", Term: "waiting"}, func(v *result.Server) Cell {
		waiting := 0.0
		for i := range v.Levels {
			waiting += v.Levels[i].MeanWaiting
		}
		return figure(waiting, format.Digits(waiting))
	})
	latency := func(v *result.Server) *result.Distribution { return v.Latency }
	if slices.ContainsFunc(s.Servers, func(v result.Server) bool { return v.KubernetesVersion != s.Servers[0].KubernetesVersion }) {
		columns = slices.Insert(columns, 1, ColumnOf[result.Server]{Column: Column{Title: "Version", Short: "version", Left: true},
			Cell: func(v *result.Server) Cell { return Word(rules.Label(v.KubernetesVersion)) }})
	}
	columns = append(columns, distributionColumn(Column{Title: "Latency, 99th", Short: "latency p99", Term: "percentile"}, latency, p99))
	optional(inService, Column{Title: "In service, most", Only: HTML, Term: "inService"}, func(v *result.Server) Cell { return countCell(int64(v.MostInService)) })
	optional(inService, Column{Title: "Speed, least", Short: "speed", Term: "speed"}, func(v *result.Server) Cell { return percentCell(v.LeastSpeed) })
	optional(processor, Column{Title: "Cores at work", Only: HTML, Term: "cpu"}, func(v *result.Server) Cell {
		if v.ProcessorSeconds == nil {
			return Cell{}
		}
		return number(*v.ProcessorSeconds / seconds)
	})
	optional(memory, Column{Title: "Memory, most", Short: "memory", Term: "memory"}, func(v *result.Server) Cell {
		if v.MostMemoryBytes == nil {
			return Cell{}
		}
		gib := float64(*v.MostMemoryBytes) / (1 << 30)
		return figure(gib, format.Digits(gib)+" GiB")
	})
	optional(connections, Column{Title: "Connections", Short: "conns", Term: "connections"}, connectionsCell)

	t := &Table{Name: "servers", Title: "Servers", Caption: "Servers: requests, seats and connections", Columns: columns.Columns()}
	for i := range s.Servers {
		t.Rows = append(t.Rows, columns.Row(&s.Servers[i]))
	}
	return t
}

// seatsCell has the mean number of seats in use over the whole window, and the nominal limits, of the
// levels that have a limit.
func seatsCell(v *result.Server, seconds float64) Cell {
	inUse, nominal := 0.0, 0
	for i := range v.Levels {
		if l := &v.Levels[i]; l.Utilisation != nil {
			inUse += l.ServiceSeatSeconds
			nominal += l.Limits.Nominal
		}
	}
	if nominal == 0 || seconds <= 0 {
		return noValue
	}
	inUse /= seconds
	return figure(inUse, fmt.Sprintf("%s of %d", format.Digits(inUse), nominal))
}

// connectionsCell has the most connections in the window and those at the end.
func connectionsCell(v *result.Server) Cell {
	if v.Connections == nil {
		return noValue
	}
	text := strconv.Itoa(v.MostConnections)
	if *v.Connections != v.MostConnections {
		text += "→" + strconv.Itoa(*v.Connections)
	}
	return figure(float64(v.MostConnections), text)
}

// serverLevel is a priority level at a server.
type serverLevel struct {
	server string
	result.Level
}

// serverLevelTable is the table of the priority levels at each server that requests arrived at.
func serverLevelTable(s *result.Summary) *Table {
	columns := Definition[serverLevel]{
		{Column: Column{Title: "Level", Short: "priority level", Left: true}, Cell: func(l *serverLevel) Cell { return Word(l.Name) }},
		{Column: Column{Title: "Server", Short: "server"}, Cell: func(l *serverLevel) Cell { return Word(l.server) }},
	}
	for _, c := range levelColumns {
		switch c.Title {
		case "Nominal", "Peak", "In use", "Saturated", "Waiting", "Arrived", "Rejected":
			columns = append(columns, ColumnOf[serverLevel]{Column: c.Column, Cell: func(l *serverLevel) Cell { return c.Cell(&l.Level) }})
		}
	}
	t := &Table{Name: "server-levels", Caption: "Priority levels at each server; limits and peak in seats", Columns: columns.Columns(), First: firstRows}
	for i := range s.PriorityLevels {
		for k := range s.Servers {
			server := &s.Servers[k]
			at := slices.IndexFunc(server.Levels, func(l result.ServerLevel) bool { return l.Name == s.PriorityLevels[i].Name })
			if at < 0 {
				continue
			}
			level := server.Levels[at].Level()
			level.Type = s.PriorityLevels[i].Type
			if !level.Idle() {
				t.Rows = append(t.Rows, columns.Row(&serverLevel{server.Name, level}))
			}
		}
	}
	return t
}

// timelineTable is the table of what happened to servers.
func timelineTable(s *result.Summary) *Table {
	t := &Table{Name: "timeline", Title: "Timeline", Caption: "What happened to servers", First: firstRows, Brief: 24,
		Columns: []Column{{Title: "Time", Short: "time", Left: true}, {Title: "Server", Short: "server", Left: true}, {Title: "What happened", Short: "what happened", Left: true}}}
	for i := range s.Timeline {
		m := &s.Timeline[i]
		who, what := "all", m.What
		if m.Server != result.AllServers {
			who = strconv.Itoa(m.Server)
		}
		if m.Lost > 0 {
			what += ", " + result.RequestCount(m.Lost) + " lost"
		}
		t.Rows = append(t.Rows, []Cell{figure(float64(m.AtNs), s.StartNs.Moment(m.AtNs)), Word(who), Word(what)})
		if len(t.Rows) == mostRows {
			t.Missing = fmt.Sprintf("Left out: %s, all in summary.json.", format.Counted(len(s.Timeline)-mostRows, "moment"))
			break
		}
	}
	return t
}
