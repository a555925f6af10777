package evidence

import (
	"strings"

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
	doc.Sections[1].Only = report.Markdown // the first screen has it
	add("also", "What else the files show", report.Part{Heading: "What else the files show", List: d.also, Brief: 2})
	doc.Sections = append(doc.Sections, d.tables...)
	wanted := report.TextTable("What would tell more", "input", "what it tells")
	wanted.Caption = "Inputs that would tell more"
	for _, w := range d.Wanted {
		wanted.AddTexts(w.Input, w.Tells)
	}
	add("wanted", "What would tell more", report.Part{Table: wanted, Brief: 2})
	add("unknown", "What these files do not say", report.Part{Heading: "What these files do not say", List: d.unknown})
	files := report.TextTable("Files", "file", "taken for", "servers", "from", "to")
	files.Caption = "The files, and what each was taken for"
	for _, s := range d.Sources {
		files.AddTexts(s.File, Words(s.Kind), strings.Join(s.Instances, ", "), s.From, s.To)
	}
	add("files", "Files", report.Part{Table: files})
	return doc
}

// readText says what was read.
func (d *Diagnosis) readText() string {
	var parts []string
	for _, s := range d.Sources {
		parts = append(parts, s.File+" ("+Words(s.Kind)+")")
	}
	text := strings.Join(parts, ", ")
	if d.KubernetesVersion != "" {
		text += "; Kubernetes " + d.KubernetesVersion + " (" + d.VersionFrom + ")"
	}
	return text
}
