package incident

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/internal/input"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace"
)

// Settings are those of the server: what the scenario says beside the requests.
type Settings struct {
	Seed uint64 // of what is drawn

	fsys        fs.FS // of the files that are read; nil for the host's
	rules       *rules.Rules
	base        string
	objects     config.Objects // including those of the base
	store       estimate.Store // empty if unknown
	serverLimit int
	limitExact  bool // serverLimit follows from the nominal limits
	limitKnown  bool // serverLimit follows from metrics
	// limitEstimated says that serverLimit is the one with which the replay is most like the log.
	limitEstimated bool
	copies         []copied
	versionFrom    string // VersionGiven and the other constants
	versionNote    string // see rules.Note
	configFiles    []string
	metricsFile    string
	sources        struct{ version, limit, config, metrics string }

	Notes, Warnings document.Errors // on the configuration
}

// copied is a file that is copied beside the scenario.
type copied struct {
	name string
	text []byte
}

// Written returns the names of the files that an import writes to its folder.
func (s *Settings) Written() []string {
	names := []string{TraceFile, ScenarioFile, ReportFile}
	for _, c := range s.copies {
		names = append(names, c.name)
	}
	return names
}

// Server returns the release of the server and its flow-control objects.
func (s *Settings) Server() (release *rules.Rules, objects config.Objects) { return s.rules, s.objects }

// defaultServerLimit is --max-requests-inflight + --max-mutating-requests-inflight by default.
const defaultServerLimit = 400 + 200

// ReadSettings reads the files of a configuration and, unless its name is empty, a scrape of /metrics. A nil fsys is the
// host's file system. The version of Kubernetes is that of the metrics unless it is given.
func ReadSettings(fsys fs.FS, version string, configFiles []string, metricsFile string) (*Settings, error) {
	s := &Settings{fsys: fsys, Seed: 1, serverLimit: defaultServerLimit, rules: rules.Default(), base: scenario.BaseSuggested,
		versionFrom: VersionAssumed, configFiles: configFiles, metricsFile: metricsFile}
	var wrong []string
	nominal, found, err := s.readMetrics(metricsFile)
	if err != nil {
		wrong = append(wrong, "--metrics: "+err.Error())
	}
	switch {
	case version != "":
		if s.rules, err = rules.For(version); err != nil {
			wrong = append(wrong, "--version: "+err.Error())
			s.rules = rules.Default()
		}
		s.sources.version, s.versionFrom = "--version", VersionGiven
	case found != "":
		if s.rules, err = rules.For(found); err != nil {
			s.rules = rules.Default()
			s.sources.version = "the default, because the metrics are of " + found + ", which is not supported"
		} else {
			s.sources.version, s.versionFrom = "kubernetes_build_info in "+filepath.Base(metricsFile), VersionMetrics
		}
	default:
		s.sources.version = "the default, because the logs do not say it"
	}
	if s.versionNote = rules.Note(cmp.Or(version, found)); s.versionNote != "" {
		s.sources.version += "; " + s.versionNote
	}
	if err := s.readConfig(configFiles); err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		return nil, &WrongChoice{strings.Join(wrong, "\n")}
	}
	if len(nominal) > 0 {
		s.limitKnown = true
		s.serverLimit, s.limitExact = ServerLimit(s.rules, s.objects, nominal)
	}
	return s, nil
}

// longestMetrics bounds what is read of a scrape, in bytes. The largest servers have some 100 MB.
const longestMetrics = 256 << 20

// readMetrics reads the nominal limits of the levels and the version of the server.
func (s *Settings) readMetrics(name string) (nominal map[string]int, version string, err error) {
	if name == "" {
		return nil, "", nil
	}
	text, err := s.readFile(name, longestMetrics)
	if err != nil {
		return nil, "", fmt.Errorf("%s: cannot be read: %s", name, unreadable(err))
	}
	state, err := metrics.Stored(bytes.NewReader(text))
	if err != nil {
		return nil, "", fmt.Errorf("%s %w", name, err)
	}
	s.store, s.sources.metrics = state.Store, filepath.Base(name)
	limits := metrics.NominalLimit
	samples, err := metrics.Read(bytes.NewReader(text), limits, "kubernetes_build_info")
	if err != nil {
		return nil, "", fmt.Errorf("%s %w", name, err)
	}
	nominal = map[string]int{}
	for _, sample := range samples.ByName[limits] {
		if sample.Value >= 0 && sample.Value <= 1e7 {
			nominal[sample.Label("priority_level")] = int(sample.Value)
		}
	}
	for _, sample := range samples.ByName["kubernetes_build_info"] {
		version = rules.Canonical(sample.Label("git_version"))
	}
	if len(s.store) == 0 && len(nominal) == 0 && version == "" {
		return nil, "", fmt.Errorf("%s has neither %s nor apiserver_resource_objects; use the output of 'kubectl get --raw /metrics'", name, limits)
	}
	return nominal, version, nil
}

// readConfig reads the configuration. If the files contain all objects of a server, the suggested
// ones that they lack do not exist.
func (s *Settings) readConfig(names []string) error {
	s.objects = config.Suggested(s.rules)
	s.sources.config = "the default, the objects of a new cluster"
	if len(names) == 0 {
		return nil
	}
	taken := map[string]bool{TraceFile: true, ScenarioFile: true, ReportFile: true}
	for _, name := range names {
		text, fetched := loader.ReplacedStdin()
		base := "cluster.yaml"
		if !fetched || name != loader.Stdin {
			var err error
			if text, err = s.readFile(name, yaml.MaxBytes); err != nil {
				return fmt.Errorf("--config: %s: cannot be read: %s; use a file", name, unreadable(err))
			}
			base = filepath.Base(name)
		}
		for taken[base] {
			base = "config-" + base
		}
		taken[base] = true
		s.copies = append(s.copies, copied{base, text})
	}
	loaded := s.loadConfig(scenario.BaseMandatory, names)
	if err := loaded.Errors.Err(); err != nil {
		return err
	}
	s.sources.config = "--config"
	all := config.Objects{}
	for _, source := range loaded.Sources {
		all = config.Merge(all, source.Objects)
	}
	if isComplete(all) {
		s.base = scenario.BaseMandatory
	} else if loaded = s.loadConfig(s.base, names); len(loaded.Errors) > 0 {
		return loaded.Errors
	}
	s.objects, s.Notes, s.Warnings = loaded.Objects, loaded.Notes, loaded.Warnings
	return nil
}

func (s *Settings) loadConfig(base string, names []string) *loader.Config {
	if s.fsys == nil {
		return loader.LoadConfig(s.rules, base, names)
	}
	return loader.LoadConfigFS(s.fsys, s.rules, base, names)
}

// readFile reads a file. If it has more bytes than it may, the error is an [input.TooLong].
func (s *Settings) readFile(name string, maxBytes int64) ([]byte, error) {
	if s.fsys == nil {
		return input.ReadFile(name, maxBytes)
	}
	text, err := fs.ReadFile(s.fsys, name)
	if err == nil && int64(len(text)) > maxBytes {
		err = &input.TooLong{Most: maxBytes}
	}
	return text, err
}

// scenario returns the text of the scenario and its settings.
func (s *Settings) scenario(r *Report, folder string) (text string, settings []Setting) {
	var b strings.Builder
	settings = []Setting{}
	set := func(field, value, source string) {
		settings = append(settings, Setting{Field: field, Value: value, Source: source})
	}
	fmt.Fprintf(&b, "# Written by apfsim import; %s says what was read, derived and left out.\n", ReportFile)
	fmt.Fprintf(&b, "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata:\n  name: %q\n", scenarioName(folder)) // 7 and true need the quotes
	server := ""
	if r.Server != "" {
		server = " of the server " + r.Server
	}
	fmt.Fprintf(&b, "  description: %s\n", strconv.Quote(fmt.Sprintf("The requests%s from %s on, as the server logged them.", server, r.Start)))
	duration := format.Seconds(r.DurationNs) + "s"
	fmt.Fprintf(&b, "spec:\n  duration: %s\n  servers:\n", duration)
	set("spec.duration", duration, "the time from the first to the last line, or of --from and --to")

	fmt.Fprintf(&b, "    kubernetesVersion: %q # %s\n", s.rules.Version, s.sources.version)
	set("spec.servers.kubernetesVersion", s.rules.Version, s.sources.version)
	limits := []int{s.serverLimit, 0}
	var source string
	switch {
	case s.limitExact:
		source = "with it, each level has the nominal limit that it has in " + s.sources.metrics
	case s.limitKnown:
		source = "the sum of the nominal limits in " + s.sources.metrics + "; the configuration gives other limits, so check that it is that of the same server"
	case s.limitEstimated:
		source = "estimated: with it, the replay is most like the log"
	default:
		limits, source = []int{400, 200}, "the default, because the logs do not say it"
	}
	fmt.Fprintf(&b, "    maxRequestsInflight: %d # %s\n", limits[0], source)
	fmt.Fprintf(&b, "    maxMutatingRequestsInflight: %d # flow control uses only the sum of both limits\n", limits[1])
	set("spec.servers.maxRequestsInflight", strconv.Itoa(limits[0]), source)
	set("spec.servers.maxMutatingRequestsInflight", strconv.Itoa(limits[1]), "flow control uses only the sum of both limits")
	if r.AdjustmentPhaseNs != nil {
		phase := format.Seconds(*r.AdjustmentPhaseNs) + "s"
		fmt.Fprintf(&b, "    adjustmentPhase: %s # the first adjustment in the log\n", phase)
		set("spec.servers.adjustmentPhase", phase, "the first adjustment in the log")
	} else {
		b.WriteString("    # The logs do not say when the server adjusted its limits. Borrowing depends on it: use random,\n" +
			"    # with replications, to see how much.\n    # adjustmentPhase: random\n")
		set("spec.servers.adjustmentPhase", "0s", "the default, because the logs do not say it")
	}
	if len(s.copies) > 0 {
		var names []string
		for _, c := range s.copies {
			names = append(names, strconv.Quote(c.name))
		}
		fmt.Fprintf(&b, "  config:\n    base: %s\n    files: [%s]\n", s.base, strings.Join(names, ", "))
		set("spec.config.files", strings.Join(names, ", "), s.sources.config)
	} else {
		b.WriteString("  # Without --config, the configuration is that of a new cluster.\n")
		set("spec.config.base", s.base, s.sources.config)
	}
	s.resources(&b, set)
	b.WriteString("  workload:\n  - name: recorded\n    arrivals:\n      trace:\n")
	fmt.Fprintf(&b, "        file: %s\n        decided: %s # FlowSchemas, levels and seats are those of the log, with which the run is compared\n", TraceFile, trace.DecidedByLog)
	fmt.Fprintf(&b, "        server: {kubernetesVersion: %q, configuration: %q", s.rules.Version, s.objects.Digest())
	fmt.Fprintf(&b, ", start: %q", rfc3339(r.startNs))
	if r.CompleteUntilNs < r.DurationNs {
		fmt.Fprintf(&b, ", completeUntil: %ss", format.Seconds(r.CompleteUntilNs))
	}
	if unknown := s.unknown(r); len(unknown) > 0 {
		fmt.Fprintf(&b, ", unknown: [%s]", strings.Join(unknown, ", "))
	}
	b.WriteString("}\n")
	return b.String(), settings
}

// unknown returns what the logs do not say, as far as a replay can differ from its log for that reason.
func (s *Settings) unknown(r *Report) (all []string) {
	add := func(what string, n, total int64) {
		if 10*n > total { // less explains no more than the tolerance of the comparison
			all = append(all, what)
		}
	}
	n := r.Requests.InTrace
	if !s.limitKnown {
		all = append(all, trace.UnknownLimits)
	}
	if r.AdjustmentPhaseNs == nil {
		all = append(all, trace.UnknownPhase)
	}
	executed := n - r.Outcomes.Rejected - r.Watches.Total
	add(trace.UnknownExecutions, r.Drawn.WithoutEnd, executed)
	add(trace.UnknownSeats, r.SeatsUnknown, n)
	add(trace.UnknownUsers, r.Users.Unknown+r.Users.GroupsUnknown, n)
	if r.QueuesFull {
		all = append(all, trace.UnknownQueues)
	}
	add(trace.UnknownWaits, r.Waits.UnknownShort+r.Waits.UnknownLonger, executed)
	return all
}

// resources writes the numbers and sizes of the stored objects.
func (s *Settings) resources(b *strings.Builder, set func(field, value, source string)) {
	if len(s.store) == 0 {
		source := "unknown, so that each list takes one seat; give the metrics of the server with --metrics"
		if s.sources.metrics != "" {
			source = "unknown, so that each list takes one seat; " + s.sources.metrics + " has no numbers of objects"
		}
		fmt.Fprintf(b, "  # resources: %s.\n", source)
		set("spec.resources", "none", source)
		return
	}
	b.WriteString("  resources:\n")
	all := slices.SortedFunc(maps.Keys(s.store), func(a, b estimate.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	for _, resource := range all {
		stats := s.store[resource]
		fmt.Fprintf(b, "  - {")
		if resource.Group != "" {
			fmt.Fprintf(b, "group: %q, ", resource.Group)
		}
		fmt.Fprintf(b, "resource: %q, objects: %d", resource.Name, stats.Objects)
		if stats.AverageBytes > 0 {
			fmt.Fprintf(b, ", averageBytes: %d", stats.AverageBytes)
		}
		b.WriteString("}\n")
	}
	set("spec.resources", fmt.Sprintf("%d %s", len(all), format.Plural(len(all), "resource")), s.sources.metrics)
}

// scenarioName returns the name of a folder as the name of a scenario: lower-case letters, digits and
// dashes.
func scenarioName(folder string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, folder)
	name = strings.Trim(name[:min(63, len(name))], "-")
	return cmp.Or(name, "incident")
}

// adjustmentPhase returns the time of the first adjustment from startNs on, within one period.
func adjustmentPhase(adjustments []int64, startNs int64) *int64 {
	if len(adjustments) == 0 {
		return nil
	}
	i, _ := slices.BinarySearch(adjustments, startNs)
	i = min(i, len(adjustments)-1)
	const period = flowcontrol.AdjustmentPeriodNs
	phase := ((adjustments[i]-startNs)%period + period) % period
	return &phase
}

// unreadable returns why a file cannot be read, without its name.
func unreadable(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
