package request

import (
	"strings"
	"testing"
)

// The parameters of each verb are read, and written again in the order of their names.
func TestOptions(t *testing.T) {
	for _, test := range []struct {
		verb, query string
		want        Options
		again       string // "" if it is the query
	}{
		{verb: "get", query: "resourceVersion=0", want: Options{Version: At(0)}},
		{verb: "get", query: "resourceVersion=abc", want: Options{Version: Version{Given: true, Word: "abc"}}},
		{verb: "get", query: "resourceVersion=-1", want: Options{Version: Version{Given: true, Word: "-1"}}},
		{verb: "get", query: "resourceVersion=&limit=x", want: Options{}, again: "-"},
		{verb: "list", query: "resourceVersion=99999999999999999999", want: Options{Version: Version{Given: true, Word: "99999999999999999999"}}},
		{verb: "list", query: "resourceVersion=17&limit=500", want: Options{Version: At(17), Limit: 500}, again: "limit=500&resourceVersion=17"},
		{verb: "list", query: "resourceVersion=17&resourceVersionMatch=Latest", want: Options{Version: At(17), Match: UnknownMatch, MatchWord: "Latest"}},
		{verb: "list", query: "limit=ten", want: Options{Malformed: "limit=ten"}},
		{verb: "list", query: "continue=a%2Bb&labelSelector=app+in+%28a%2Cb%29", want: Options{Continue: "a+b", LabelSelector: "app in (a,b)"}},
		{verb: "watch", query: "watch&allowWatchBookmarks=1&sendInitialEvents=False&resourceVersionMatch=NotOlderThan&timeoutSeconds=300",
			want:  Options{Bookmarks: true, SendInitialEventsGiven: true, Match: NotOlderThan, TimeoutSeconds: 300},
			again: "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=false&timeoutSeconds=300"},
		{verb: "create", query: "dryRun=All&fieldManager=me", want: Options{DryRun: true, FieldManager: "me"}},
		{verb: "create", query: "dryRun=Some", want: Options{DryRun: true, Unsupported: "dryRun=Some"}},
		{verb: "update", query: "fieldValidation=Never", want: Options{Unsupported: "fieldValidation=Never"}},
		{verb: "patch", query: "force=false", want: Options{ForceGiven: true}},
		{verb: "patch", query: "fieldManager=a%07", want: Options{FieldManager: "a\a", Unsupported: "fieldManager=a\a"}},
		{verb: "delete", query: "gracePeriodSeconds=0&orphanDependents=false", want: Options{GraceSecondsGiven: true, OrphanGiven: true}},
		{verb: "delete", query: "propagationPolicy=Foreground", want: Options{Propagation: "Foreground"}},
		{verb: "delete", query: "propagationPolicy=Never", want: Options{Unsupported: "propagationPolicy=Never"}},
		{verb: "deletecollection", query: "limit=3&resourceVersion=9",
			want: Options{Limit: 3, Version: At(9), Preconditions: Preconditions{Version: At(9)}}},
	} {
		got, err := ParseOptions(test.verb, test.query)
		if err != nil || got != test.want {
			t.Errorf("%s ?%s: got %+v, %v, want %+v", test.verb, test.query, got, err, test.want)
		}
		again := test.again
		switch again {
		case "":
			again = test.query
		case "-":
			again = ""
		}
		if q := got.Query(); q != again {
			t.Errorf("%s ?%s: written as %q, want %q", test.verb, test.query, q, again)
		}
		if twice, err := ParseOptions(test.verb, got.Query()); err != nil || twice != got {
			t.Errorf("%s ?%s: read again: %+v, %v, want %+v", test.verb, test.query, twice, err, got)
		}
	}
}

func TestMalformedQuery(t *testing.T) {
	if _, err := ParseOptions("list", "limit=%zz"); err == nil {
		t.Error("a query that is not in URL encoding is accepted")
	}
}

// A uid is the number of an object here; no object has one that is not a positive number.
func TestUIDPrecondition(t *testing.T) {
	for query, want := range map[string]Preconditions{
		"":         {},
		"uid=1":    {UID: 1},
		"uid=12":   {UID: 12},
		"uid=0":    {Mismatch: true},
		"uid=-1":   {UID: -1, Mismatch: true},
		"uid=many": {Mismatch: true},
	} {
		o, err := ParseOptions("delete", query)
		if err != nil || o.Preconditions != want {
			t.Errorf("%q: %+v, %v; want %+v", query, o.Preconditions, err, want)
		}
	}
}

// The name of a field manager has at most 128 bytes, which all can be printed.
func TestFieldManager(t *testing.T) {
	for name, ok := range map[string]bool{strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "a%0Ab": false} {
		o, err := ParseOptions("create", "fieldManager="+name)
		if err != nil || (o.Unsupported == "") != ok {
			t.Errorf("a name of %d bytes: unsupported %q, %v; want it accepted: %v", len(name), o.Unsupported, err, ok)
		}
	}
}

// The zeros before a version are kept, as it is text to a server.
func TestPaddedVersions(t *testing.T) {
	for text, want := range map[string]Version{
		"": {}, "0": {Given: true}, "00": {Given: true, Padded: 1}, "000": {Given: true, Padded: 2},
		"7": {Given: true, N: 7}, "007": {Given: true, N: 7, Padded: 2}, "10": {Given: true, N: 10}, "x": {Given: true, Word: "x"},
	} {
		if got := ParseVersion(text); got != want || got.String() != text {
			t.Errorf("%q is %+v and written %q, want %+v", text, got, got.String(), want)
		}
	}
}
