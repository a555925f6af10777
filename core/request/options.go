package request

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Match is a resourceVersionMatch.
type Match uint8

// The values of resourceVersionMatch.
const (
	NoMatch Match = iota
	NotOlderThan
	Exact
	UnknownMatch // another word
)

// Options are the parameters in the query of a request (k8s.io/apimachinery/pkg/apis/meta/v1, ListOptions and the
// others).
type Options struct {
	Version   Version
	Match     Match
	MatchWord string // of UnknownMatch, literally
	Limit     int64  // 0 without one
	Continue  string

	SendInitialEvents, SendInitialEventsGiven bool
	Bookmarks                                 bool // allowWatchBookmarks
	TimeoutSeconds                            int64

	LabelSelector, FieldSelector string

	// Timeout is how long the client gives the server, as it is written, such as 10s; "" without one.
	Timeout string

	DryRun       bool
	FieldManager string
	Force        bool
	ForceGiven   bool // force, whether true or false, stands in the query: only an apply may have it

	// Of a deletion; its body has the same, which counts if it is given.
	Preconditions     Preconditions
	GraceSeconds      int64
	GraceSecondsGiven bool
	OrphanDependents  bool // 202 instead of 200 if it is given as false and finalizers hold the object
	OrphanGiven       bool
	// Propagation is the propagationPolicy, if a server knows it: Background, Foreground or Orphan. The last two
	// add a finalizer, and each removes those of the others.
	Propagation string

	// Malformed is a parameter whose value cannot be decoded, such as "limit=ten": 400. Unsupported is one with
	// a value that the server does not accept, such as "dryRun=Some": 422. "" without one.
	Malformed, Unsupported string
}

// Preconditions are the conditions under which an object is deleted.
type Preconditions struct {
	UID      int64 // 0 without one
	Version  Version
	Mismatch bool // a UID that no object has
}

// ParseOptions reads the query of a request, without the question mark. Parameters that the verb does not
// have are ignored, and of a repeated one the first counts, as in kube-apiserver. What a server answers with
// an error is no error here: it is in the options, as it was written. The error says that the text is not in
// URL encoding.
func ParseOptions(verb, query string) (Options, error) {
	if query == "" {
		return Options{}, nil
	}
	p, err := newParser(query)
	if err != nil {
		return Options{}, err
	}
	o := p.Options
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
		if verb == "patch" && p.values.Has("force") {
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
	return *o, nil
}

// parser reads parameters into options.
type parser struct {
	*Options
	values url.Values
}

// newParser returns a parser of a query that has read what requests with all verbs have. The error says that the
// text is not in URL encoding.
func newParser(query string) (*parser, error) {
	values, err := ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("query: %q: %w", query, err)
	}
	return &parser{Options: &Options{Timeout: values.Get("timeout")}, values: values}, nil
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
	q.word("timeout", o.Timeout)
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
