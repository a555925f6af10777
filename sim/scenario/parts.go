package scenario

import (
	"apfsim/core/config"
	"apfsim/document"
)

// LoadedConfig is a configuration without a scenario.
type LoadedConfig struct {
	Objects  config.Objects  // of use only without mistakes
	Sources  []*ConfigSource // what was read, in the order of the arguments
	Warnings document.Errors // on objects that are valid, but have no effect
	Errors   document.Errors
}

// LoadConfig puts together the configuration that a scenario would have with the given
// base and with files of the host, among them folders and [Stdin].
func LoadConfig(base string, files []string) *LoadedConfig {
	s := newScenario()
	s.files = host
	s.Spec.Config.Base = base
	v := validator{doc: &document.Document{File: "--base"}, scenario: s, files: NewCache()}
	v.config(files)
	c := &LoadedConfig{Objects: s.Objects, Warnings: v.warnings.Sorted(), Errors: append(v.mistakes, v.elsewhere...).Sorted()}
	for _, name := range files {
		c.Sources = append(c.Sources, v.files.config(host, name))
	}
	return c
}

// CheckRequest checks a sender and a request by the rules of a scenario's workload, and
// completes the request.
func CheckRequest(as *Identity, r *Request) document.Errors {
	v := validator{doc: &document.Document{}, scenario: newScenario()}
	v.senders("request", &Workload{As: *as})
	v.request("request", r)
	return v.mistakes
}
