package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// layers are the folders of the module in the order in which they may import each other: a package
// imports only packages of its own layer and of layers after it. The folders that no layer
// contains, such as docs, are programs that nothing imports.
var layers = [][]string{
	{"cmd"},
	{"experiment"},
	{"reports"},
	{"sim", "lint"},
	{"core"},
	{"document", "internal", "scenarios"},
}

// outputFormats are the packages that write one output format each.
var outputFormats = []string{
	"reports/charts", "reports/record", "reports/render",
}

// renderers are the output formats that write documents: of reports, they import only what documents are made of.
var renderers = []string{"reports/charts", "reports/render"}

// forRenderers are the packages of reports that renderers import.
var forRenderers = []string{"reports/report", "reports/format"}

// notInCore are packages of the standard library that core must not import: core does no input or
// output, writes no log and takes no lock. Package time is allowed for durations; violations checks
// that core calls none of its functions that read the clock.
var notInCore = []string{"context", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec",
	"os/signal", "sync", "sync/atomic", "syscall"}

// own are the packages that have a single importer and are still packages, each with the reason.
var own = map[string]string{
	"experiment/alerts":      "it alone imports the engine of Prometheus",
	"experiment/evidence":    "it concludes from what servers report of themselves, without a request",
	"experiment/upgrade":     "it asks the parts of an upgrade for what they know, and of experiment only for runs",
	"experiment/fit/retries": "it matches arrivals to rejections by their times, and knows no scenario",
	"internal/extsort":       "sorting in files has nothing to do with the logs that are sorted",
	"sim/registry/change":    "it computes objects from objects, without a request, a time or a store",
	"sim/trace/auditlog":     "it reads one format of a line, as httplog, which others import too, reads another",
}

// Limits of reports: how many packages it has, and how many are in the longest chain of imports among them.
const (
	mostReports    = 15
	deepestReports = 8
)

// in reports whether a package is a folder or below it.
func in(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

// layer returns the index of the layer that a package is in, or -1.
func layer(name string) int {
	return slices.IndexFunc(layers, func(folders []string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return in(name, folder) })
	})
}

// isStandard reports whether an import path is one of the standard library: its first element has
// no dot, and it is not of this module.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}

// violations returns a sentence for each violation of a rule of docs/background/layout.md. The
// rules on imports are for the code without tests, except that k8s.io is forbidden in tests too.
func violations(all []*pkg) []string {
	var found []string
	for _, p := range all {
		add := func(format string, args ...any) {
			found = append(found, p.name+" "+fmt.Sprintf(format, args...))
		}
		switch verb, _, _ := strings.Cut(p.subject, " "); {
		case p.lines == 0: // only tests
		case p.subject == "":
			add("has no package comment")
		case verb == "is" || verb == "has" || !strings.HasSuffix(verb, "s"):
			add("has a package comment that does not begin with a verb that says what the package does: %s", p.subject)
		}
		for _, imported := range slices.Concat(p.imports, p.tests) {
			if in(path.Clean(imported), "k8s.io") || strings.HasPrefix(imported, "sigs.k8s.io/") {
				add("imports %s; only those of lab and live may", imported)
			}
		}
		for _, effect := range p.effects {
			if in(p.name, "core") {
				add("%s; core gets the time as an argument", effect)
			}
		}
		for _, imported := range p.imports {
			if in(p.name, "core") {
				switch {
				case slices.Contains(notInCore, imported):
					add("imports %s; core does no input or output and takes no lock", imported)
				case !isStandard(imported) && !in(imported, module+"/core") && imported != module+"/document":
					add("imports %s; core imports only core, document and the standard library", imported)
				}
			}
			name, ok := strings.CutPrefix(imported, module+"/")
			if !ok {
				continue
			}
			if slices.Contains(outputFormats, p.name) && slices.Contains(outputFormats, name) {
				add("imports %s; an output format does not import another", name)
			}
			if slices.Contains(renderers, p.name) && !slices.Contains(forRenderers, name) && layer(name) < layer("document") {
				add("imports %s; a renderer knows documents only, of reports/report, and reports/format", name)
			}
			if to := layer(name); to < 0 || layer(p.name) > to {
				add("imports %s, which is a layer above it", name)
			}
		}
	}
	return slices.Concat(found, singles(all), reportsTooDeep(all))
}

// singles returns a sentence for each package with a single importer that is not in own, and for each of own that need
// not be there.
func singles(all []*pkg) (found []string) {
	for _, p := range all {
		_, isOwn := own[p.name]
		single := len(p.importers) == 1
		switch {
		case single && !isOwn:
			found = append(found, fmt.Sprintf("%s is imported only by %s: it is a file of that package, or a subject of its own with a reason in docs/layout",
				p.name, p.importers[0]))
		case isOwn && !single:
			found = append(found, p.name+" needs no exception in docs/layout")
		}
	}
	return found
}

// reportsTooDeep returns a sentence for each limit of reports that is exceeded.
func reportsTooDeep(all []*pkg) (found []string) {
	reports := map[string]*pkg{}
	for _, p := range all {
		if in(p.name, "reports") && p.lines > 0 {
			reports[module+"/"+p.name] = p
		}
	}
	depths := map[*pkg]int{} // how many packages are in the longest chain of imports that begins at a package
	var depth func(p *pkg) int
	depth = func(p *pkg) int {
		if depths[p] == 0 {
			below := 0
			for _, imported := range p.imports {
				if to := reports[imported]; to != nil {
					below = max(below, depth(to))
				}
			}
			depths[p] = below + 1
		}
		return depths[p]
	}
	for _, p := range all {
		if in(p.name, "reports") && depth(p) > deepestReports {
			found = append(found, fmt.Sprintf("%s begins a chain of %d imports within reports; at most %d", p.name, depth(p), deepestReports))
		}
	}
	if len(reports) > mostReports {
		found = append(found, fmt.Sprintf("reports has %d packages; at most %d", len(reports), mostReports))
	}
	return found
}
