package assign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
)

// Load multiplies the loads of workloads, which are spec.workload[].load.
type Load struct {
	Option   string  // that it comes from, as messages name it
	Workload string  // "" for all of them
	Factor   float64 // more than 0
}

// ParseLoads parses texts such as "2" and "mice=2" that an option is given.
func ParseLoads(option string, texts []string) (all []Load, err error) {
	for _, text := range texts {
		l := Load{Option: option}
		number := text
		if at := strings.LastIndex(text, "="); at >= 0 {
			l.Workload, number = text[:at], text[at+1:]
			if l.Workload == "" {
				return nil, fmt.Errorf("%s: %q: want the name of a workload before =, or the factor alone for all of them", option, document.Abridge(text))
			}
		}
		l.Factor, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(l.Factor > 0 && l.Factor <= mostFactor) {
			return nil, fmt.Errorf("%s: %q: want a factor of more than 0 and at most 1000000, such as 2, or WORKLOAD=2", option, document.Abridge(text))
		}
		all = append(all, l)
	}
	return all, nil
}

// mostFactor is the greatest load of a workload.
const mostFactor = 1e6

// position is where errors in the load are.
func (l *Load) position() document.Position {
	text := strconv.FormatFloat(l.Factor, 'g', -1, 64)
	if l.Workload != "" {
		text = l.Workload + "=" + text
	}
	return document.Position{File: l.Option + " " + document.Abridge(text)}
}

// Multiply multiplies the loads in a scenario's document. It returns the list with the assignments that do so.
func (l List) Multiply(doc *document.Document, loads []Load) (List, document.Errors) {
	var errors document.Errors
	workloads := doc.Root.Get("spec").Get("workload")
	if workloads == nil || workloads.Kind != document.List {
		return l, nil // which is an error of the document
	}
	l = slices.Clone(l) // other documents have loads of their own
	var names []string
	for _, w := range workloads.Items {
		if name := w.Get("name"); name != nil {
			names = append(names, name.Text)
		}
	}
	for i := range loads {
		load := &loads[i]
		if load.Workload != "" && !slices.Contains(names, load.Workload) {
			errors.Add(load.position(), "", "there is no workload %q%s", document.Abridge(load.Workload), document.Hint(load.Workload, names))
		}
		for k, w := range workloads.Items {
			name := w.Get("name")
			present, ok := loadOf(w)
			if !ok || load.Workload != "" && (name == nil || name.Text != load.Workload) {
				continue
			}
			a := assignment{position: load.position(), path: document.Index("spec.workload", k) + ".load", line: l.nextLine(),
				value: strconv.FormatFloat(present*load.Factor, 'g', -1, 64)}
			if err := a.apply(doc, a.path); err != nil {
				errors.Add(a.position, "", "%v", err)
			}
			l = append(l, a)
		}
	}
	return l, errors
}

// loadOf returns the load of a workload in a document; ok is false for one that is not valid, which the decoder reports.
func loadOf(w *document.Node) (load float64, ok bool) {
	if w.Kind != document.Object {
		return 0, false
	}
	n := w.Get("load")
	if n == nil || n.Kind == document.Null {
		return 1, true
	}
	load, err := strconv.ParseFloat(n.Text, 64)
	return load, err == nil && n.Kind == document.Number
}

// nextLine returns a line that no assignment of the list has.
func (l List) nextLine() int {
	line := 0
	for i := range l {
		line = min(line, l[i].line)
	}
	return line - 1
}
