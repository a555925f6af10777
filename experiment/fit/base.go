package fit

import (
	"bytes"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/experiment/fit/shape"
	"apfsim/experiment/fit/sharing"
	"apfsim/sim/scenario"
)

// Base is the scenario whose servers, configuration and resources the fitted one takes over.
type Base struct {
	Document             *yaml.Node // the mapping of the scenario
	DurationNs, WarmupNs int64
	Servers              int
	Capacity             *sharing.Law // of each server; nil if the scenario does not have it
	Calibrated           *calibration // of that capacity; nil if the scenario does not say it
	Release              *rules.Rules
}

// ReadBase reads the base from the text of a file, and makes its paths relative to a folder. Without a text the
// adjustment phase is unknown, and is drawn by each run.
func ReadBase(text []byte, name, dir string) (*Base, error) {
	if text == nil {
		text = []byte("apiVersion: " + scenario.APIVersion + "\nkind: " + scenario.Kind + "\nmetadata: {}\nspec: {servers: {adjustmentPhase: random}}\n")
	}
	fail := func(line int, path, message string) error {
		return document.Errors{{Position: document.Position{File: name, Line: line}, Path: path, Message: message}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, fail(0, "", "is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(&more) == nil {
		return nil, fail(more.Line, "", "has more than one scenario; want one")
	}
	b := &Base{Document: doc.Content[0]}
	b.Document.Style = 0
	spec := shape.NodeField(b.Document, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, fail(b.Document.Line, "spec", "is missing; want a scenario")
	}
	spec.Style = 0
	for _, f := range []struct {
		name string
		ns   *int64
	}{{"duration", &b.DurationNs}, {"warmup", &b.WarmupNs}} {
		if n := shape.NodeField(spec, f.name); n != nil {
			d, err := time.ParseDuration(n.Value)
			if err != nil {
				return nil, fail(n.Line, "spec."+f.name, document.Abridge(n.Value)+" is not a duration; use a number with a unit, such as 60s")
			}
			*f.ns = int64(d)
		}
	}
	b.Servers = 1
	if n := shape.NodeField(shape.NodeField(spec, "servers"), "replicas"); n != nil {
		if err := n.Decode(&b.Servers); err != nil {
			return nil, fail(n.Line, "spec.servers.replicas", document.Abridge(n.Value)+" is not a whole number")
		}
	}
	if n := shape.NodeField(shape.NodeField(spec, "servers"), "capacity"); n != nil {
		var c struct {
			Cores, Contention, Coherency float64
			Calibrated                   *calibration
		}
		if err := n.Decode(&c); err != nil {
			return nil, fail(n.Line, "spec.servers.capacity", "cores, contention or coherency is not a number")
		}
		if c.Cores != 0 || c.Contention != 0 || c.Coherency != 0 {
			b.Capacity = &sharing.Law{Cores: c.Cores, Contention: c.Contention, Coherency: c.Coherency}
			if c.Cores == 0 {
				b.Capacity.Cores = math.Inf(1)
			}
			if b.Calibrated = c.Calibrated; b.Calibrated != nil {
				var err error
				if b.Calibrated.ns, err = time.ParseDuration(b.Calibrated.Demand); err != nil || b.Calibrated.ns <= 0 {
					return nil, fail(shape.NodeField(n, "calibrated").Line, "spec.servers.capacity.calibrated.demand", strconv.Quote(document.Abridge(b.Calibrated.Demand))+" is not a duration above 0; use a number with a unit, such as 12ms")
				}
			}
		}
	}
	b.Release = rules.Default()
	if n := shape.NodeField(shape.NodeField(spec, "servers"), "kubernetesVersion"); n != nil {
		release, err := rules.For(n.Value)
		if err != nil {
			return nil, fail(n.Line, "spec.servers.kubernetesVersion", err.Error())
		}
		b.Release = release
	}
	rebase(shape.NodeField(shape.NodeField(spec, "config"), "files"), name, dir)
	if events := shape.NodeField(spec, "events"); events != nil {
		for _, e := range events.Content {
			rebase(shape.NodeField(shape.NodeField(e, "apply"), "files"), name, dir)
		}
	}
	return b, nil
}

// rebase makes the paths in a list relative to the folder of the fitted scenario.
func rebase(files *yaml.Node, name, dir string) {
	if files == nil || dir == "" {
		return
	}
	for _, n := range files.Content {
		if filepath.IsAbs(n.Value) {
			continue
		}
		path := filepath.Join(filepath.Dir(name), n.Value)
		full, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		to, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if path, err = filepath.Rel(to, full); err != nil {
			path = full
		}
		n.Value = filepath.ToSlash(path)
	}
}

// calibration is the request with which a capacity was measured (package machine), and its demand then.
type calibration struct {
	Verb, Group, Resource, Subresource, Namespace, Name, Demand string

	ns time.Duration
}

// matches says whether a kind of request is the one of the calibration.
func (c *calibration) matches(a *classify.Attributes) bool {
	return a.Verb == c.Verb && a.APIGroup == c.Group && a.Resource == c.Resource && a.Subresource == c.Subresource && a.Namespace == c.Namespace &&
		(c.Name == "" || a.Name == c.Name)
}
