package request

import "testing"

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
