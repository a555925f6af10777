package fit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/experiment/fit/retries"
	"apfsim/experiment/fit/shape"
	"apfsim/reports/format"
)

// index is what a scenario replaces by the index of a client.
const index = "{i}"

// likeness is a way in which the streams of several users are alike: they differ in one word, or in a number
// within it.
type likeness struct {
	class  string // the key of all streams that are alike in this way
	word   string // as the stream has it
	token  string // the part of the word that differs
	number bool   // whether the token is a number
	both   bool   // whether the number is also in another word, the namespace
}

// inNamespace returns the namespace of a request with the index in place of the token.
func (l *likeness) inNamespace(namespace, i string) string {
	if !l.both {
		return replaceWord(namespace, l.word, l.general(i))
	}
	other := likeness{word: namespace, token: l.token}
	return other.general(i)
}

// general returns the word with the index in place of the token.
func (l *likeness) general(i string) string {
	at := strings.LastIndex(l.word, l.token)
	return l.word[:at] + i + l.word[at+len(l.token):]
}

// likenesses returns the ways in which the stream can be like others: by the numbers in the user's name, then
// as a node, by the namespace of a service account, and by the namespace of the request.
func (s *stream) likenesses() []likeness {
	var all []likeness
	add := func(word, token string, number, both bool) {
		l := likeness{word: word, token: token, number: number, both: both}
		placeholder := index
		if !number {
			placeholder = "{" + index + "}"
		}
		l.class = strings.Join(slices.Concat([]string{
			replaceWord(s.user, word, l.general(placeholder)), l.inNamespace(s.attributes.Namespace, placeholder),
			replaceWord(s.query, word, l.general(placeholder)), replaceWord(s.attributes.Path, word, l.general(placeholder)),
			s.attributes.Verb, s.attributes.APIGroup, s.attributes.Resource, s.attributes.Subresource, s.schema, s.level,
			strconv.FormatBool(s.open)}, s.groups), "\x00")
		all = append(all, l)
	}
	numbers := func(word string) {
		for end := len(word); end > 0; {
			if !digit(word[end-1]) {
				end--
				continue
			}
			start := end
			for start > 0 && digit(word[start-1]) {
				start--
			}
			if token := word[start:end]; strings.LastIndex(word, token) == start { // otherwise general would replace another one
				if other := s.attributes.Namespace; other != word && lastNumber(other) == token {
					add(word, token, true, true)
				}
				add(word, token, true, false)
			}
			end = start
		}
	}
	namespace, name, isAccount := classify.SplitServiceAccount(s.user)
	node, isNode := strings.CutPrefix(s.user, classify.NodePrefix)
	switch {
	case isAccount:
		numbers(name)
		numbers(namespace)
		if !reserved(namespace) {
			add(namespace, namespace, false, false)
		}
	case isNode && node != "":
		numbers(node)
		add(node, node, false, false)
	default:
		numbers(s.user)
	}
	if other := s.attributes.Namespace; other != "" && other != namespace && !reserved(other) {
		numbers(other)
		add(other, other, false, false)
	}
	return all
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// lastNumber returns the last number in a text.
func lastNumber(text string) string {
	end := len(text)
	for end > 0 && !digit(text[end-1]) {
		end--
	}
	start := end
	for start > 0 && digit(text[start-1]) {
		start--
	}
	return text[start:end]
}

// reserved says whether the namespace is Kubernetes' own, which FlowSchemas name.
func reserved(namespace string) bool { return strings.HasPrefix(namespace, "kube-") }

// replaceWord replaces a word that is not a part of a longer one.
func replaceWord(text, word, by string) string {
	if word == "" || !strings.Contains(text, word) {
		return text
	}
	part := func(i int) bool {
		if i < 0 || i >= len(text) {
			return false
		}
		c := text[i]
		return digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_'
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], word) && !part(i-1) && !part(i+len(word)) {
			b.WriteString(by)
			i += len(word)
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// The least numbers of users that are joined: users that differ in a word are joined only if there are a few
// of them, because they get other names.
const (
	leastNumbered = 2
	leastWords    = 3
)

// group joins the streams to workloads.
func (f *fitter) group() {
	ways := make([][]likeness, len(f.inOrder))
	size := map[string]int{}
	for i, s := range f.inOrder {
		ways[i] = s.likenesses()
		for _, l := range ways[i] {
			size[l.class]++
		}
	}
	classes := map[string]*class{}
	var inOrder []*class
	for i, s := range f.inOrder {
		best := likeness{class: "\x00" + strconv.Itoa(i)} // like no other
		most := 0
		for _, l := range ways[i] {
			n, least := size[l.class], leastNumbered
			if !l.number {
				n, least = n*2/3, leastWords*2/3 // numbered clients keep their names
			}
			if n >= least && n > most {
				best, most = l, n
			}
		}
		c := classes[best.class]
		if c == nil {
			c = &class{}
			classes[best.class] = c
			inOrder = append(inOrder, c)
		}
		c.members = append(c.members, member{s, best})
	}
	for _, c := range inOrder {
		f.workloads = append(f.workloads, c.workloads()...)
	}
	f.limit()
	slices.SortStableFunc(f.workloads, func(a, b *workload) int { return cmp.Compare(b.requests(), a.requests()) })
	for _, w := range f.workloads {
		w.assign(f.report.DurationNs)
	}
	f.nameWorkloads()
	f.findSenders()
	f.retries = retries.Matcher{SlackNs: f.slack()}
}

// member is a stream of a class, and how it is like the others.
type member struct {
	*stream
	likeness
}

// class is streams that are alike except for the numbers of their requests.
type class struct{ members []member }

// workloads divides the class into groups of members with similar numbers of requests: a busy user is not
// like the others.
func (c *class) workloads() []*workload {
	slices.SortStableFunc(c.members, func(a, b member) int { return cmp.Compare(a.requests, b.requests) })
	var all []*workload
	from := 0
	for i := 1; i <= len(c.members); i++ {
		if i < len(c.members) {
			a, b := float64(c.members[i-1].requests), float64(c.members[i].requests)
			if b <= 2*a || b-a <= 5*math.Sqrt(a+b) {
				continue
			}
		}
		all = append(all, &workload{members: c.members[from:i:i]})
		from = i
	}
	for k, w := range all {
		if len(w.members) > 1 {
			w.generalize(len(all) > 1, string(rune('a'+min(k, 25))))
		}
	}
	return all
}

// generalize determines the word with the index {i} that replaces the members' own words. letter distinguishes the
// workload from others of its class, if there are any.
func (w *workload) generalize(divided bool, letter string) {
	slices.SortFunc(w.members, func(a, b member) int {
		if a.number {
			if c := cmp.Compare(len(a.token), len(b.token)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.token, b.token)
	})
	first := &w.members[0].likeness
	exact := first.number
	last := 0
	for _, m := range w.members {
		var err error
		last, err = strconv.Atoi(m.token)
		exact = exact && err == nil && strconv.Itoa(last) == m.token // no leading zeros
	}
	// Some clients may not have sent a request by chance.
	n := float64(len(w.members))
	if silent := float64(last+1) - n; silent > 0.02*n+2*n*math.Exp(-float64(w.requests())/n) {
		exact = false
	}
	if !divided {
		letter = ""
	}
	switch {
	case exact:
		w.index, w.numbered = index, last+1
		w.word = first.general(index)
	case first.number:
		w.index, w.renamed = letter+index, true
		w.word = first.general(w.index)
	default:
		common := w.members[0].token
		for _, m := range w.members {
			for !strings.HasPrefix(m.token, common) {
				common = common[:len(common)-1]
			}
		}
		if common = strings.TrimRight(common, "-.0123456789"); len(common) < 2 {
			common = "namespace"
			if strings.HasPrefix(w.members[0].user, classify.NodePrefix) {
				common = "node"
			}
		}
		w.index, w.renamed = common+"-"+letter+index, true
		w.word = w.index
	}
}

// limit joins the rarest workloads if there are too many.
func (f *fitter) limit() {
	most := f.options.MaxWorkloads
	if len(f.workloads) <= most {
		return
	}
	slices.SortStableFunc(f.workloads, func(a, b *workload) int { return cmp.Compare(b.requests(), a.requests()) })
	rare := f.workloads[most:]
	f.workloads = f.workloads[:most:most]
	into := map[string]*workload{}
	n := 0
	for _, w := range rare {
		s := w.members[0].stream
		key := s.attributes.Verb + "\x00" + s.schema + "\x00" + s.level + strconv.FormatBool(s.open)
		if into[key] == nil {
			into[key] = &workload{joined: true}
			f.workloads = append(f.workloads, into[key])
		}
		into[key].members = append(into[key].members, w.members...)
		n++
	}
	f.note("%d workloads with few requests were joined to %d by verb, FlowSchema and priority level; each has the user and the object of the first of its streams", n, len(into))
}

// requests returns the number of requests of the workload.
func (w *workload) requests() (n int64) {
	for _, m := range w.members {
		n += m.requests
	}
	return n
}

// assign sets the workload of each of its streams.
func (w *workload) assign(durationNs int64) {
	clients := len(w.members)
	switch {
	case w.joined:
		clients = 1
	case w.numbered > 0:
		clients = w.numbered
	}
	w.observed = shape.NewObservations(clients, durationNs)
	for i, m := range w.members {
		m.stream.workload = w
		if w.numbered > 0 {
			i, _ = strconv.Atoi(m.token)
		}
		m.stream.client = min(i, clients-1)
		w.followed.Merge(&m.followed)
	}
	w.rule, w.retries = w.followed.Rule()
}

// nameWorkloads gives the workloads names of their users, verbs and resources.
func (f *fitter) nameWorkloads() {
	taken := map[string]bool{}
	for _, w := range f.workloads {
		s := w.members[0].stream
		who := s.user
		if w.word != "" {
			who = replaceWord(who, w.members[0].word, w.word)
		}
		if w.joined {
			who = "others"
		}
		what := s.attributes.Resource
		if what == "" {
			what = s.attributes.Path
		}
		name := slug(withoutPrefix(who) + "-" + s.attributes.Verb + "-" + what + "-" + s.attributes.Subresource)
		if s.open {
			name += "-open-at-start"
		}
		w.name = unique(name, taken)
	}
}

// unique returns a name that is not taken, and takes it.
func unique(name string, taken map[string]bool) string {
	free := name
	for i := 2; taken[free]; i++ {
		free = name + "-" + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}

// withoutPrefix returns a user's name without the prefix that Kubernetes adds.
func withoutPrefix(user string) string {
	for _, prefix := range []string{classify.ServiceAccountPrefix, classify.NodePrefix, "system:"} {
		user = strings.TrimPrefix(user, prefix)
	}
	return user
}

// slug returns a text as a name that needs no quotes in a path.
func slug(text string) string {
	return cmp.Or(format.Slug(strings.ReplaceAll(text, index, "")), "requests")
}

// ScenarioName returns a text as the name of a scenario.
func ScenarioName(text string) string { return slug(text) }
