package api

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// ParseOptions reads the query of a request, without the question mark. Parameters that the verb does not
// have are ignored, and of a repeated one the first counts, as in kube-apiserver. What a server answers with
// an error is no error here: it is in the options, as it was written. The error says that the text is not in
// URL encoding.
func ParseOptions(verb, query string) (Options, error) {
	var o Options
	if query == "" {
		return o, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, err
	}
	p := parser{Options: &o, values: values}
	switch verb {
	case "get":
		o.Version = p.version("resourceVersion")
	case "list", "watch", "deletecollection":
		p.list()
	}
	switch verb {
	case "create", "update", "patch":
		p.dryRun()
		o.FieldManager = p.word("fieldManager")
		if !validManager(o.FieldManager) {
			p.unsupported("fieldManager")
		}
		if verb == "patch" && values.Has("force") {
			o.Force = p.is("force")
			o.ForceGiven = true
		}
		switch p.word("fieldValidation") {
		case "", "Ignore", "Warn", "Strict":
		default:
			p.unsupported("fieldValidation")
		}
	case "delete", "deletecollection":
		p.deletion()
	}
	return o, nil
}

// parser reads parameters into options.
type parser struct {
	*Options
	values url.Values
}

func (p *parser) word(name string) string { return p.values.Get(name) }

// is returns the value of a boolean parameter: every text except 0 and false is true, the empty one
// included (k8s.io/apimachinery/pkg/runtime, Convert_Slice_string_To_bool).
func (p *parser) is(name string) bool {
	s := p.values.Get(name)
	return p.values.Has(name) && s != "0" && !strings.EqualFold(s, "false")
}

func (p *parser) integer(name string) int64 {
	if !p.values.Has(name) {
		return 0
	}
	n, err := strconv.ParseInt(p.values.Get(name), 10, 64)
	if err != nil && p.Malformed == "" {
		p.Malformed = name + "=" + p.values.Get(name)
	}
	return n
}

func (p *parser) unsupported(name string) {
	if p.Unsupported == "" {
		p.Unsupported = name + "=" + p.values.Get(name)
	}
}

func (p *parser) version(name string) Version { return ParseVersion(p.values.Get(name)) }

// ParseVersion reads a resourceVersion; "" is that of none. One that is larger than what this program counts
// to is the largest that it does.
func ParseVersion(s string) Version {
	if s == "" {
		return Version{}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return Version{Given: true, Word: s}
	}
	return At(int64(min(n, math.MaxInt64)))
}

func (p *parser) list() {
	o := p.Options
	o.Version = p.version("resourceVersion")
	switch word := p.word("resourceVersionMatch"); word {
	case "":
	case "Exact":
		o.Match = Exact
	case "NotOlderThan":
		o.Match = NotOlderThan
	default:
		o.Match, o.MatchWord = UnknownMatch, word
	}
	o.Limit = p.integer("limit")
	o.Continue = p.word("continue")
	o.SendInitialEvents, o.SendInitialEventsGiven = p.is("sendInitialEvents"), p.values.Has("sendInitialEvents")
	o.Bookmarks = p.is("allowWatchBookmarks")
	o.TimeoutSeconds = p.integer("timeoutSeconds")
	o.LabelSelector, o.FieldSelector = p.word("labelSelector"), p.word("fieldSelector")
}

// dryRun reads the parameter that may stand several times.
func (p *parser) dryRun() {
	for _, word := range p.values["dryRun"] {
		p.DryRun = true
		if word != "All" {
			p.unsupported("dryRun")
		}
	}
}

// deletion reads the options of a deletion without a body.
func (p *parser) deletion() {
	o := p.Options
	p.dryRun()
	o.GraceSeconds, o.GraceSecondsGiven = p.integer("gracePeriodSeconds"), p.values.Has("gracePeriodSeconds")
	o.OrphanDependents, o.OrphanGiven = p.is("orphanDependents"), p.values.Has("orphanDependents")
	if p.values.Has("propagationPolicy") {
		switch word := p.word("propagationPolicy"); word {
		case "Background", "Foreground", "Orphan":
			o.Propagation = word
		default:
			p.unsupported("propagationPolicy")
		}
		if o.OrphanGiven {
			p.unsupported("propagationPolicy")
		}
	}
	o.Version = p.version("resourceVersion")
	o.Preconditions.Version = o.Version
	if uid := p.word("uid"); uid != "" {
		n, err := strconv.ParseInt(uid, 10, 64)
		o.Preconditions.UID, o.Preconditions.Mismatch = n, err != nil || n <= 0
	}
}

// validManager says whether a text can be the name of a field manager: at most 128 bytes, all printable
// (k8s.io/apimachinery/pkg/apis/meta/v1/validation, ValidateFieldManager).
func validManager(s string) bool {
	return len(s) <= 128 && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// String returns the version as a query has it; "" for that of none.
func (v Version) String() string {
	switch {
	case !v.Given:
		return ""
	case v.Word != "":
		return v.Word
	}
	return strconv.FormatInt(v.N, 10)
}

// Query returns the options as a query, in an order that is always the same. The parameters that a server
// takes from a body instead, such as the preconditions of a deletion, are not in it, unless Version is given.
func (o *Options) Query() string {
	if *o == (Options{}) {
		return ""
	}
	var q query
	q.word("allowWatchBookmarks", truth(o.Bookmarks))
	q.word("continue", o.Continue)
	if o.DryRun && !strings.HasPrefix(o.Unsupported, "dryRun=") {
		q.word("dryRun", "All")
	}
	q.word("fieldManager", o.FieldManager)
	q.word("fieldSelector", o.FieldSelector)
	q.given("force", o.ForceGiven || o.Force, truth(o.Force))
	q.given("gracePeriodSeconds", o.GraceSecondsGiven, strconv.FormatInt(o.GraceSeconds, 10))
	q.word("labelSelector", o.LabelSelector)
	q.given("limit", o.Limit != 0, strconv.FormatInt(o.Limit, 10))
	q.given("orphanDependents", o.OrphanGiven, truth(o.OrphanDependents))
	q.word("propagationPolicy", o.Propagation)
	q.word("resourceVersion", o.Version.String())
	switch o.Match {
	case NotOlderThan:
		q.word("resourceVersionMatch", "NotOlderThan")
	case Exact:
		q.word("resourceVersionMatch", "Exact")
	case UnknownMatch:
		q.word("resourceVersionMatch", o.MatchWord)
	}
	q.given("sendInitialEvents", o.SendInitialEventsGiven, truth(o.SendInitialEvents))
	q.given("timeoutSeconds", o.TimeoutSeconds != 0, strconv.FormatInt(o.TimeoutSeconds, 10))
	for _, literal := range [...]string{o.Malformed, o.Unsupported} {
		if name, value, found := strings.Cut(literal, "="); found && !strings.HasPrefix(literal, "fieldManager=") {
			q.word(name, value)
		}
	}
	return q.String()
}

// truth returns a boolean as a query has it; "" for false where the parameter may be left out.
func truth(is bool) string {
	if is {
		return "true"
	}
	return ""
}

// query is a query that is being written.
type query struct{ strings.Builder }

// word adds a parameter, unless its value is empty.
func (q *query) word(name, value string) { q.given(name, value != "", value) }

// given adds a parameter if it is given. One that is false has no text.
func (q *query) given(name string, given bool, value string) {
	if !given {
		return
	}
	if q.Len() > 0 {
		q.WriteByte('&')
	}
	if value == "" {
		value = "false"
	}
	q.WriteString(name)
	q.WriteByte('=')
	q.WriteString(url.QueryEscape(value))
}
