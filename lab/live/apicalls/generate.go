package apicalls

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
)

// Generator makes a random sequence of calls. A call may refer to the answers before it, so that calls are
// generated while a server answers them: Next and Answered take turns. The same seed and answers give the same
// sequence.
type Generator struct {
	random    *rand.Rand
	resources []*Resource
	nowNs     int64
	id        int64

	objects  map[string]*object
	versions []int64          // calls whose answers have a resourceVersion
	lists    []int64          // calls whose answers have a continue token
	tokens   map[int64]string // and their paths
}

// object is what the generator knows of an object.
type object struct {
	exists     bool
	versions   []int64 // calls that were answered with it
	fields     map[string]string
	finalizers []string
}

// Spacing of calls in virtual time. It must be longer than the simulation takes to answer.
const (
	shortNs = 20e6   // a call that waits for nothing but etcd
	readNs  = 150e6  // a read may wait for the progress of a watch cache, which is asked for each 100 ms
	waitNs  = 3300e6 // a read of a version that is never reached waits for 3 s
	watchNs = 200e6  // how long the events of a watch are read
)

// NewGenerator returns a generator of sequences about a few of the resources.
func NewGenerator(seed uint64) *Generator {
	g := &Generator{random: rand.New(rand.NewPCG(seed, 0)), objects: map[string]*object{}, tokens: map[int64]string{}}
	for _, i := range g.random.Perm(len(Resources))[:3] {
		g.resources = append(g.resources, &Resources[i])
	}
	return g
}

// oneIn returns true once in n calls.
func (g *Generator) oneIn(n int) bool { return g.random.IntN(n) == 0 }

func pick[T any](g *Generator, values ...T) T { return values[g.random.IntN(len(values))] }

// recent returns one of the last ones, mostly the latest; the first call if there are none.
func (g *Generator) recent(ids []int64, n int) int64 {
	if len(ids) == 0 {
		return 1
	}
	ids = ids[max(0, len(ids)-n):]
	return ids[len(ids)-1-min(len(ids)-1, g.random.IntN(len(ids))*g.random.IntN(3)/2)]
}

// Next returns the next calls, which are sent together.
func (g *Generator) Next() []Call {
	if g.id == 0 { // comparisons need a first write whose version is known
		c := g.call(g.resources[0], "create")
		c.Fields = map[string]string{"f0": "v0"}
		return g.finish(shortNs, c)
	}
	r := pick(g, g.resources...)
	switch n := g.random.IntN(100); {
	case n < 17:
		return g.create(r)
	case n < 34:
		return g.update(r)
	case n < 45:
		return g.patch(r)
	case n < 54:
		return g.apply(r)
	case n < 62:
		return g.get(r)
	case n < 80:
		return g.list(r)
	case n < 85:
		return g.watch(r)
	case n < 95:
		return g.delete(r)
	case n < 97:
		return g.deleteCollection(r)
	default:
		return g.together(r)
	}
}

// Answered tells the generator what its latest calls were answered.
func (g *Generator) Answered(calls []Call, answers []Answer) {
	together := len(calls) > 1
	for i := range calls {
		c, a := &calls[i], &answers[i]
		if a.Continue != "" {
			g.lists = append(g.lists, c.ID)
			g.tokens[c.ID] = c.Path
		}
		if together || c.DryRun {
			continue // no later call refers to it: it is not known who was first, or there is no such object
		}
		if a.ResourceVersion != nil {
			g.versions = append(g.versions, c.ID)
		}
		if c.Verb == "list" || c.Verb == "watch" || c.Verb == "deletecollection" {
			continue
		}
		o := g.object(c)
		switch {
		case a.Status == 404 || c.Verb == "delete" && a.Status == 200 && a.ResourceVersion == nil:
			*o = object{versions: o.versions}
		case a.Status == 200 || a.Status == 201:
			o.exists = true
			o.versions = append(o.versions, c.ID)
			if c.Verb == "update" || c.Verb == "create" {
				o.fields, o.finalizers = c.Fields, c.Finalizers
			} else if c.Finalizers != nil {
				o.finalizers = c.Finalizers
			}
		}
	}
}

func (g *Generator) object(c *Call) *object {
	key := c.Resource + "/" + c.Namespace + "/" + c.Name
	if g.objects[key] == nil {
		g.objects[key] = &object{}
	}
	return g.objects[key]
}

// call returns a call about one of a few objects, so that calls conflict.
func (g *Generator) call(r *Resource, verb string) Call {
	c := Call{User: "administrator", Groups: []string{"system:masters", "system:authenticated"}, Verb: verb, APIGroup: r.Group, Resource: r.Name,
		Namespace: pick(g, "a", "a", "a", "b"), Name: fmt.Sprintf("n%d", g.random.IntN(3))}
	c.Path = r.Path(c.Namespace, c.Name)
	if verb == "create" {
		c.Path = r.Path(c.Namespace, "")
	}
	return c
}

// about returns a call about an object, which mostly exists.
func (g *Generator) about(r *Resource, verb string) (Call, *object) {
	for try := 0; ; try++ {
		c := g.call(r, verb)
		if o := g.object(&c); o.exists != (verb == "create") || try == 2 {
			return c, o
		}
	}
}

// finish gives calls their IDs and their time, and lets the time pass until the next ones.
func (g *Generator) finish(takesNs int64, calls ...Call) []Call {
	for i := range calls {
		g.id++
		calls[i].ID, calls[i].ArrivalNs = g.id, g.nowNs
		switch calls[i].Verb {
		case "create", "update", "patch":
			if calls[i].Fields == nil {
				calls[i].Fields = map[string]string{}
			}
		case "watch":
			calls[i].WatchNs = watchNs
			takesNs = max(takesNs, waitNs)
		}
	}
	g.nowNs += takesNs
	return calls
}

// fields returns n different fields.
func (g *Generator) fields(n int) map[string]string {
	fields := map[string]string{}
	for range n {
		fields[pick(g, "f0", "f1", "f2", "metadata.labels.app")] = fmt.Sprintf("v%d", g.random.IntN(3))
	}
	return fields
}

// version returns a resourceVersion for a write of an object: mostly the current one.
func (g *Generator) version(o *object) string {
	if len(o.versions) == 0 {
		return fmt.Sprintf("@%d", g.recent(g.versions, 50))
	}
	switch n := g.random.IntN(20); {
	case n < 14:
		return fmt.Sprintf("@%d", o.versions[len(o.versions)-1])
	case n < 18:
		return fmt.Sprintf("@%d", g.recent(o.versions, 10))
	case n < 19:
		return fmt.Sprintf("@%d", g.recent(g.versions, 50))
	default:
		return fmt.Sprintf("@%d+1000", g.recent(g.versions, 50))
	}
}

// uid returns a UID for a write of an object, which may be that of an earlier object of the name.
func (g *Generator) uid(o *object) string {
	if len(o.versions) == 0 {
		return ""
	}
	if g.oneIn(4) {
		return fmt.Sprintf("@%d", pick(g, o.versions...))
	}
	return fmt.Sprintf("@%d", o.versions[len(o.versions)-1])
}

func (g *Generator) finalizers() []string {
	return slices.Clone([][]string{{"example.com/x"}, {"example.com/x", "example.com/y"}}[g.random.IntN(2)])
}

func (g *Generator) manager() string { return pick(g, "", "", "m1", "m2", "m3") }

func (g *Generator) create(r *Resource) []Call {
	c, o := g.about(r, "create")
	c.Fields = g.fields(g.random.IntN(4))
	c.DryRun, c.FieldManager = g.oneIn(8), g.manager()
	if g.oneIn(8) {
		c.Finalizers = g.finalizers()
	}
	switch {
	case g.oneIn(12):
		c.BodyResourceVersion = g.version(o)
	case g.oneIn(20):
		c.BodyResourceVersion = "0"
	}
	return g.finish(shortNs, c)
}

func (g *Generator) update(r *Resource) []Call {
	if !r.updated {
		return g.patch(r)
	}
	c, o := g.about(r, "update")
	c.Fields = g.fields(g.random.IntN(4))
	if g.oneIn(5) {
		c.Fields = maps.Clone(o.fields) // changes nothing
	}
	c.DryRun, c.FieldManager = g.oneIn(10), g.manager()
	switch {
	case g.oneIn(10):
		c.Finalizers = g.finalizers()
	case g.oneIn(2):
		c.Finalizers = slices.Clone(o.finalizers)
	}
	switch n := g.random.IntN(10); {
	case n < 3:
	case n < 4:
		c.BodyResourceVersion = "0"
	default:
		c.BodyResourceVersion = g.version(o)
	}
	if g.oneIn(8) {
		c.BodyUID = g.uid(o)
	}
	return g.finish(shortNs, c)
}

func (g *Generator) patch(r *Resource) []Call {
	c, o := g.about(r, "patch")
	c.Fields = g.fields(g.random.IntN(3))
	c.DryRun, c.FieldManager = g.oneIn(12), g.manager()
	switch {
	case g.oneIn(8), len(o.finalizers) > 0 && g.oneIn(2):
		c.Finalizers = []string{}
	case g.oneIn(10):
		c.Finalizers = g.finalizers()
	}
	switch {
	case g.oneIn(6):
		c.BodyResourceVersion = g.version(o)
	case g.oneIn(15):
		c.BodyResourceVersion = "0"
	}
	if g.oneIn(10) {
		c.BodyUID = g.uid(o)
	}
	if g.oneIn(40) {
		c.Query = "force=true"
	}
	return g.finish(shortNs, c)
}

func (g *Generator) apply(r *Resource) []Call {
	if !r.applied {
		return g.patch(r)
	}
	c, o := g.about(r, "patch")
	c.PatchType, c.Fields = "apply", g.fields(g.random.IntN(4))
	c.DryRun, c.FieldManager = g.oneIn(12), pick(g, "m1", "m2", "m3")
	if g.oneIn(25) {
		c.FieldManager = ""
	}
	if g.oneIn(4) {
		c.Query = pick(g, "force=true", "force=true", "force=false")
	}
	switch {
	case g.oneIn(8):
		c.BodyResourceVersion = g.version(o)
	case g.oneIn(25):
		c.BodyResourceVersion = "0"
	}
	if g.oneIn(15) {
		c.BodyUID = g.uid(o)
	}
	return g.finish(shortNs, c)
}

// readVersion returns a resourceVersion for a read, and how long the read may take.
func (g *Generator) readVersion() (version string, takesNs int64) {
	switch n := g.random.IntN(100); {
	case n < 40:
		return "", readNs
	case n < 60:
		return "0", readNs
	case n < 97:
		return fmt.Sprintf("@%d", g.recent(g.versions, 100)), readNs
	case n < 98:
		return fmt.Sprintf("@%d+1000", g.recent(g.versions, 100)), waitNs
	default:
		return pick(g, "abc", "-1", "1.5"), readNs
	}
}

func (g *Generator) get(r *Resource) []Call {
	c, _ := g.about(r, "get")
	version, takesNs := g.readVersion()
	if version != "" {
		c.Query = "resourceVersion=" + version
	}
	return g.finish(takesNs, c)
}

// selectors adds selectors to a query.
func (g *Generator) selectors(query []string) []string {
	if g.oneIn(5) {
		query = append(query, "labelSelector="+url.QueryEscape(pick(g, "app=v0", "app=v1", "app", "!app", "app!=v0", "app in (v0,v1)")))
	}
	if g.oneIn(8) {
		query = append(query, "fieldSelector="+url.QueryEscape(pick(g, "metadata.name=n0", "metadata.name=n1", "metadata.name!=n0", "metadata.namespace=a")))
	}
	return query
}

// collection returns a call about a collection: that of a namespace, or of all where no other objects are.
func (g *Generator) collection(r *Resource, verb string) Call {
	c := g.call(r, verb)
	c.Name = ""
	if r.Name != "configmaps" && r.Name != "roles" && verb != "deletecollection" && g.oneIn(3) {
		c.Namespace = ""
	}
	c.Path = r.Path(c.Namespace, "")
	return c
}

func (g *Generator) list(r *Resource) []Call {
	c := g.collection(r, "list")
	version, takesNs := g.readVersion()
	var query []string
	limited := g.oneIn(2)
	if limited {
		query = append(query, "limit="+pick(g, "1", "1", "2", "3", "500"))
	}
	if len(g.lists) > 0 && g.oneIn(4) { // with what goes with a token, mostly
		id := g.recent(g.lists, 8)
		if !g.oneIn(10) {
			c.Path = g.tokens[id]
			g.readdress(&c)
		}
		query = append(query, fmt.Sprintf("continue=@%d", id))
		if !g.oneIn(6) {
			version, takesNs = pick(g, "", "", "0"), readNs
		}
	} else if g.oneIn(60) {
		query = append(query, "continue="+pick(g, "abc", "e30"))
	}
	if version != "" {
		query = append(query, "resourceVersion="+version)
	}
	switch n := g.random.IntN(12); {
	case n < 2:
		query = append(query, "resourceVersionMatch=NotOlderThan")
	case n < 5:
		query = append(query, "resourceVersionMatch=Exact")
	case n < 6 && g.oneIn(4):
		query = append(query, "resourceVersionMatch=Latest")
	}
	if g.oneIn(40) {
		query = append(query, "sendInitialEvents="+pick(g, "true", "false"))
	}
	c.Query = strings.Join(g.selectors(query), "&")
	return g.finish(takesNs, c)
}

// readdress gives a call of a collection the attributes of its path.
func (g *Generator) readdress(c *Call) {
	for i := range Resources {
		for _, namespace := range append([]string{""}, Namespaces...) {
			if r := &Resources[i]; r.Path(namespace, "") == c.Path {
				c.APIGroup, c.Resource, c.Namespace = r.Group, r.Name, namespace
			}
		}
	}
}

func (g *Generator) watch(r *Resource) []Call {
	c := g.collection(r, "watch")
	version, _ := g.readVersion()
	query := []string{"watch=true"}
	if version != "" {
		query = append(query, "resourceVersion="+version)
	}
	switch n := g.random.IntN(12); {
	case n < 4:
		query = append(query, "sendInitialEvents="+pick(g, "true", "true", "false"), "resourceVersionMatch=NotOlderThan")
	case n < 5:
		query = append(query, pick(g, "sendInitialEvents=true", "sendInitialEvents=false", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Exact"))
	case n < 6 && len(g.lists) > 0:
		query = append(query, fmt.Sprintf("continue=@%d", g.recent(g.lists, 8)))
	}
	if g.oneIn(2) {
		query = append(query, "allowWatchBookmarks=true")
	}
	c.Query = strings.Join(g.selectors(query), "&")
	return g.finish(readNs, c)
}

func (g *Generator) delete(r *Resource) []Call {
	c, o := g.about(r, "delete")
	c.DryRun = g.oneIn(8)
	if g.oneIn(3) {
		p := &Preconditions{}
		if n := g.random.IntN(3); n > 0 {
			p.ResourceVersion = g.version(o)
		} else {
			p.UID = g.uid(o)
		}
		if *p != (Preconditions{}) {
			c.Preconditions = p
		}
		return g.finish(shortNs, c) // options in the query do not count beside a body
	}
	switch g.random.IntN(12) {
	case 0:
		c.Query = "gracePeriodSeconds=" + pick(g, "0", "30")
	case 1:
		c.Query = "propagationPolicy=" + pick(g, "Background", "Foreground", "Orphan")
	case 2:
		c.Query = "orphanDependents=" + pick(g, "false", "true")
	case 3:
		c.Query = "resourceVersion=" + g.version(o)
	}
	return g.finish(shortNs, c)
}

func (g *Generator) deleteCollection(r *Resource) []Call {
	c := g.collection(r, "deletecollection")
	c.DryRun = g.oneIn(6)
	var query []string
	switch n := g.random.IntN(10); {
	case n < 5:
	case n < 6:
		query = append(query, "resourceVersion=0")
	default:
		query = append(query, fmt.Sprintf("resourceVersion=@%d", g.recent(g.versions, 30)))
	}
	if g.oneIn(3) {
		query = append(query, "limit="+pick(g, "1", "2", "500"))
	}
	c.Query = strings.Join(g.selectors(query), "&")
	// Some are gone, and the answer does not tell which: half of the later calls take them for missing.
	for _, key := range slices.Sorted(maps.Keys(g.objects)) {
		o := g.objects[key]
		o.exists = o.exists && g.oneIn(2)
	}
	return g.finish(readNs, c)
}

// together returns calls that are sent at once, on a name of their own. Each kind has the same outcomes, and
// leaves the same objects, in every order of them.
func (g *Generator) together(r *Resource) []Call {
	name := fmt.Sprintf("t%d", g.random.IntN(2))
	calls := make([]Call, 2+g.random.IntN(6))
	kind := g.random.IntN(3)
	if r.Name == "pods" && kind == 2 {
		kind = 1 // a pod goes in two steps, between which another deletion may come
	}
	for i := range calls {
		c := &calls[i]
		*c = g.call(r, []string{"create", "patch", "delete"}[kind])
		c.Namespace, c.Name = "b", name
		c.Path = r.Path("b", name)
		switch c.Verb {
		case "create": // one succeeds, if there is none
			c.Path, c.Fields = r.Path("b", ""), map[string]string{"f0": "same"}
		case "patch": // all succeed, one after the other
			c.Fields = map[string]string{fmt.Sprintf("f%d", i): fmt.Sprintf("v%d", g.id)}
		}
	}
	return g.finish(shortNs*int64(len(calls)), calls...)
}
