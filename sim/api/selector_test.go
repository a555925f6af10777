package api

import "testing"

// A selector matches the objects that satisfy all its conditions, as upstream's.
func TestSelector(t *testing.T) {
	web := &Object{Namespace: "shop", Name: "web-1", Fields: map[string]string{
		"spec.nodeName": "node-7", "status.phase": "Running", "metadata.labels.app": "web", "metadata.labels.tier": "front", "metadata.labels.size": "7",
	}}
	bare := &Object{Name: "bare"}
	for _, c := range []struct {
		labels, fields string
		web, bare      bool
	}{
		{"", "", true, true},
		{"app=web", "", true, false},
		{"app==web,tier=front", "", true, false},
		{"app=web,tier=back", "", false, false},
		{"app!=web", "", false, true}, // an object without the label is different, too
		{"app in (api, web)", "", true, false},
		{"app in(api),tier", "", false, false},
		{"app notin (api,db)", "", true, true},
		{"app notin (web)", "", false, true},
		{"app", "", true, false},
		{"!app", "", false, true},
		{"app=", "", false, false}, // an empty label is not the same as none
		{"", "metadata.name=web-1", true, false},
		{"", "metadata.namespace!=shop", false, true},
		{"", "spec.nodeName=node-7,status.phase!=Failed", true, false},
		{"", "spec.nodeName=", false, true}, // an empty field is
		{"tier", "status.phase==Running", true, false},
		{"size>5", "", true, false},
		{"size < 5", "", false, false},
		{"", `metadata.name!=web\,1`, true, true}, // a comma that is part of the value
		{"tier", "status.phase=Pending", false, false},
	} {
		s, err := ParseSelector(c.labels, c.fields)
		if err != nil {
			t.Errorf("%q, %q: %v", c.labels, c.fields, err)
			continue
		}
		if s.Matches(web) != c.web || s.Matches(bare) != c.bare {
			t.Errorf("%q, %q: matches %v, %v; want %v, %v", c.labels, c.fields, s.Matches(web), s.Matches(bare), c.web, c.bare)
		}
		if (s == nil) != (c.labels+c.fields == "") {
			t.Errorf("%q, %q: nil is %v", c.labels, c.fields, s == nil)
		}
	}
}

// A watch whose field selector leaves only one value for a field may use an index of it.
func TestSelectorValue(t *testing.T) {
	for _, c := range []struct {
		labels, fields, value string
		ok                    bool
	}{
		{"", "spec.nodeName=node-1", "node-1", true},
		{"a", "status.phase=Running,spec.nodeName=node-1", "node-1", true},
		{"", "spec.nodeName=", "", true},
		{"", "spec.nodeName!=node-1", "", false},
		{"spec.nodeName=node-1", "", "", false},
		{"", "", "", false},
	} {
		s, err := ParseSelector(c.labels, c.fields)
		if err != nil {
			t.Fatal(err)
		}
		if value, ok := s.Value("spec.nodeName"); value != c.value || ok != c.ok {
			t.Errorf("%q, %q: %q, %v; want %q, %v", c.labels, c.fields, value, ok, c.value, c.ok)
		}
	}
}
