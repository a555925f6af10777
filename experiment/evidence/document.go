package evidence

import (
	"maps"
	"math"
	"slices"
	"strings"

	"apfsim/experiment/incident"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Document returns the diagnosis in words.
func (d *Diagnosis) Document() *report.Document {
	v := d.Verdict
	doc := &report.Document{Title: "Diagnosis", Data: &d.Diagnosis, Answer: report.AnswerOf(v), Ran: d.readText(), Warnings: d.warnings}
	add := func(name, title string, parts ...report.Part) {
		for _, p := range parts {
			if p.Table != nil && len(p.Table.Rows) > 0 || len(p.List) > 0 {
				doc.Sections = append(doc.Sections, report.Section{Name: name, Title: title, Parts: parts})
				return
			}
		}
	}
	doc.Sections = append(doc.Sections, report.DiagnosisScreen(v, nil, nil), report.VerdictSection(v))
	verdict := &doc.Sections[1]
	verdict.Only = report.Markdown | report.Terminal
	for i := range verdict.Parts {
		verdict.Parts[i].Brief = 0 // which the first screen has already
	}
	add("also", "What else the files show", report.Part{Heading: "What else the files show", List: d.also, Brief: 2})
	add("levels", "Priority levels", report.Part{Table: d.levelTable()})
	add("schemas", "FlowSchemas", report.Part{Table: d.schemaTable()})
	doc.Sections = append(doc.Sections, d.tables...)
	wanted := report.TextTable("What would tell more", "input", "what it tells")
	wanted.Caption = "Inputs that would tell more"
	for _, w := range d.Wanted {
		wanted.AddTexts(w.Input, w.Tells)
	}
	add("wanted", "What would tell more", report.Part{Table: wanted})
	add("unknown", "What these files do not say", report.Part{Heading: "What these files do not say", List: d.unknown})
	files := report.TextTable("Files", "file", "taken for", "servers", "from", "to")
	files.Caption = "The files, and what each was taken for"
	for _, s := range d.Sources {
		files.AddTexts(s.File, Words(s.Kind), strings.Join(s.Instances, ", "), s.From, s.To)
	}
	add("files", "Files", report.Part{Table: files})
	return doc
}

// filesNamed is how many files the first lines name. Of more, they have the kinds.
const filesNamed = 3

// readText says what was read, of which servers and of which time.
func (d *Diagnosis) readText() string {
	var parts, instances []string
	for i := range d.Sources {
		s := &d.Sources[i]
		if text := Words(s.Kind); len(d.Sources) <= filesNamed {
			parts = append(parts, s.File+" ("+text+")")
		} else if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
		for _, name := range s.Instances {
			if !slices.Contains(instances, name) {
				instances = append(instances, name)
			}
		}
	}
	text := strings.Join(parts, ", ")
	if n := len(d.Sources); n > filesNamed {
		text = format.Counted(n, "file") + ": " + text
	}
	if len(instances) > 0 {
		text += "; of " + format.Listed(instances, 5, "")
	}
	if d.From != "" && d.From != d.To {
		text += "; " + d.From + " to " + d.To
	}
	if d.KubernetesVersion != "" {
		text += "; Kubernetes " + d.KubernetesVersion + " (" + d.VersionFrom + ")"
	}
	return text
}

// number is a cell with a number, "–" without one.
func number(x *float64, text func(float64) string) report.Cell {
	if x == nil {
		return report.Cell{Text: "–"}
	}
	return report.Cell{Text: text(*x), Value: *x, Number: true}
}

func waitCell(bounds *[2]*float64) report.Cell {
	if bounds == nil {
		return report.Cell{Text: "–"}
	}
	high := math.Inf(1)
	if bounds[1] != nil {
		high = *bounds[1]
	}
	return report.Cell{Text: waitText(*bounds[0], high), Value: *bounds[0] * 1e9, Number: true}
}

func sum(reasons map[string]float64) (all float64) {
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		all += reasons[reason]
	}
	return all
}

func count(x float64) report.Cell {
	return number(&x, func(x float64) string { return format.Whole(int64(x)) })
}

// levelTable has what the metrics say of the priority levels.
func (d *Diagnosis) levelTable() *report.Table {
	columns := report.Definition[incident.LevelUse]{
		{Column: report.Column{Title: "Priority level", Short: "priority level", Left: true}, Cell: func(u *incident.LevelUse) report.Cell { return report.Word(u.PriorityLevel) }},
		{Column: report.Column{Title: "Requests", Short: "requests"}, Cell: func(u *incident.LevelUse) report.Cell {
			return number(u.Requests, func(n float64) string { return format.Whole(int64(n)) })
		}},
		{Column: report.Column{Title: "Rejected", Short: "rejected"}, Cell: func(u *incident.LevelUse) report.Cell { return count(sum(u.Rejected)) }},
		{Column: report.Column{Title: "Wait p99", Short: "wait p99"}, Cell: func(u *incident.LevelUse) report.Cell { return waitCell(u.WaitP99) }},
		{Column: report.Column{Title: "Seats used", Short: "used"}, Cell: func(u *incident.LevelUse) report.Cell { return number(u.Used, format.Percent) }},
		{Column: report.Column{Title: "Time full", Short: "full"}, Cell: func(u *incident.LevelUse) report.Cell { return number(u.Full, format.Percent) }},
		{Column: report.Column{Title: "Demand", Short: "demand"}, Cell: func(u *incident.LevelUse) report.Cell { return number(u.Demand, format.Percent) }},
		{Column: report.Column{Title: "Nominal limit", Short: "nominal"}, Cell: func(u *incident.LevelUse) report.Cell { return number(u.Nominal, format.Number) }},
		{Column: report.Column{Title: "Current limit", Short: "limit"}, Cell: func(u *incident.LevelUse) report.Cell {
			if u.Current == nil {
				return report.Cell{Text: "–"}
			}
			if u.Current[0] == u.Current[1] {
				return number(&u.Current[0], format.Number)
			}
			return report.Cell{Text: format.Number(u.Current[0]) + " to " + format.Number(u.Current[1]), Value: u.Current[0], Number: true}
		}},
	}
	if several(d.Levels, func(u *incident.LevelUse) string { return u.Instance }) {
		columns = slices.Insert(columns, 0, report.Definition[incident.LevelUse]{{Column: report.Column{Title: "Server", Short: "server", Left: true}, Cell: func(u *incident.LevelUse) report.Cell { return report.Word(u.Instance) }}}...)
	}
	t := &report.Table{Name: "levels", Title: "Priority levels", Caption: "What the metrics show, by priority level; seats used, time full and demand are of the current limit", Columns: columns.Columns()}
	for i := range d.Levels {
		t.Rows = append(t.Rows, columns.Row(&d.Levels[i]))
	}
	return t
}

// several reports whether any row has the name of a server.
func several[T any](rows []T, instance func(*T) string) bool {
	return slices.ContainsFunc(rows, func(row T) bool { return instance(&row) != "" })
}

// schemaTable has what the metrics say of the FlowSchemas.
func (d *Diagnosis) schemaTable() *report.Table {
	columns := report.Definition[incident.SchemaUse]{
		{Column: report.Column{Title: "FlowSchema", Short: "FlowSchema", Left: true}, Cell: func(u *incident.SchemaUse) report.Cell { return report.Word(u.FlowSchema) }},
		{Column: report.Column{Title: "Priority level", Short: "priority level", Left: true}, Cell: func(u *incident.SchemaUse) report.Cell { return report.Word(u.PriorityLevel) }},
		{Column: report.Column{Title: "Requests", Short: "requests"}, Cell: func(u *incident.SchemaUse) report.Cell {
			return number(u.Requests, func(n float64) string { return format.Whole(int64(n)) })
		}},
		{Column: report.Column{Title: "Requests per second", Short: "per second"}, Cell: func(u *incident.SchemaUse) report.Cell { return number(u.Rate, format.Number) }},
		{Column: report.Column{Title: "Rejected", Short: "rejected"}, Cell: func(u *incident.SchemaUse) report.Cell { return count(sum(u.Rejected)) }},
		{Column: report.Column{Title: "Wait p99", Short: "wait p99"}, Cell: func(u *incident.SchemaUse) report.Cell { return waitCell(u.WaitP99) }},
		{Column: report.Column{Title: "Seats in use", Short: "seats"}, Cell: func(u *incident.SchemaUse) report.Cell { return number(u.Seats, format.Number) }},
		{Column: report.Column{Title: "Part of the seats in use at the level", Short: "of level"}, Cell: func(u *incident.SchemaUse) report.Cell { return number(u.OfUse, format.Percent) }},
	}
	if several(d.Schemas, func(u *incident.SchemaUse) string { return u.Instance }) {
		columns = slices.Insert(columns, 0, report.Definition[incident.SchemaUse]{{Column: report.Column{Title: "Server", Short: "server", Left: true}, Cell: func(u *incident.SchemaUse) report.Cell { return report.Word(u.Instance) }}}...)
	}
	t := &report.Table{Name: "schemas", Title: "FlowSchemas", Caption: "What the metrics show, by FlowSchema; seats in use are means of the samples", Columns: columns.Columns()}
	for i := range d.Schemas {
		t.Rows = append(t.Rows, columns.Row(&d.Schemas[i]))
	}
	return t
}
