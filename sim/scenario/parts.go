package scenario

import (
	"apfsim/core/config"
	"apfsim/core/document"
)

// LoadConfig puts together the configuration that a scenario would have with the given
// base and with files of the host. The objects are of use only without mistakes.
func LoadConfig(base string, files []string) (objects config.Objects, warnings, mistakes document.Mistakes) {
	s := newScenario()
	s.files = host
	s.Spec.Config.Base = base
	v := validator{doc: &document.Document{File: "--base"}, scenario: s, files: NewCache()}
	v.config(files)
	return s.Objects, v.warnings, append(v.mistakes, v.elsewhere...)
}

// CheckRequest checks a sender and a request by the rules of a scenario's workload, and
// completes the request.
func CheckRequest(as *Identity, r *Request) document.Mistakes {
	v := validator{doc: &document.Document{}, scenario: newScenario()}
	v.senders("request", &Workload{As: *as})
	v.request("request", r)
	return v.mistakes
}
