package maintain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	flowcontrolinformers "k8s.io/client-go/informers/flowcontrol"
	informersv1 "k8s.io/client-go/informers/flowcontrol/v1"
	listersv1 "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"

	"apfsim/core/config"
)

// cluster stores the objects for the code of kube-apiserver. It is the transport of its writes, and its
// informers have each write at once.
type cluster struct {
	schemas, levels cache.Indexer
	begin           time.Time
	down            func(since time.Duration) bool // whether writes fail then
	writes          []string
	err             error // of this test, not of kube-apiserver
}

func newCluster(down func(time.Duration) bool) *cluster {
	index := func() cache.Indexer { return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}) }
	return &cluster{schemas: index(), levels: index(), begin: time.Now(), down: down}
}

// The informers that kube-apiserver asks for; it asks for no others.
type (
	factory struct {
		informers.SharedInformerFactory
		*cluster
	}
	group struct {
		flowcontrolinformers.Interface
		*cluster
	}
	version struct {
		informersv1.Interface
		*cluster
	}
	schemaInformer struct {
		informersv1.TypedFlowSchemaInformer
		*cluster
	}
	levelInformer struct {
		informersv1.TypedPriorityLevelConfigurationInformer
		*cluster
	}
	synced struct{ cache.SharedIndexInformer }
)

func (f factory) Flowcontrol() flowcontrolinformers.Interface { return group{nil, f.cluster} }
func (g group) V1() informersv1.Interface                     { return version{nil, g.cluster} }
func (v version) FlowSchemas() informersv1.TypedFlowSchemaInformer {
	return schemaInformer{nil, v.cluster}
}
func (v version) PriorityLevelConfigurations() informersv1.TypedPriorityLevelConfigurationInformer {
	return levelInformer{nil, v.cluster}
}
func (schemaInformer) Informer() cache.SharedIndexInformer { return synced{} }
func (levelInformer) Informer() cache.SharedIndexInformer  { return synced{} }
func (synced) HasSynced() bool                             { return true }
func (i schemaInformer) Lister() listersv1.FlowSchemaLister {
	return listersv1.NewFlowSchemaLister(i.schemas)
}
func (i levelInformer) Lister() listersv1.PriorityLevelConfigurationLister {
	return listersv1.NewPriorityLevelConfigurationLister(i.levels)
}

// RoundTrip implements http.RoundTripper: it stores what kube-apiserver writes.
func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	since := time.Since(c.begin)
	var o stored
	indexer := c.schemas
	if o = new(flowcontrolv1.FlowSchema); strings.Contains(r.URL.Path, "/prioritylevelconfigurations") {
		o, indexer = new(flowcontrolv1.PriorityLevelConfiguration), c.levels
	}
	if c.down(since) {
		return answer(r, http.StatusInternalServerError, &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcd is down"}), nil
	}
	if r.Method == http.MethodDelete {
		found, ok, err := indexer.GetByKey(path.Base(r.URL.Path))
		if err != nil || !ok {
			c.err = fmt.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			return nil, c.err
		}
		indexer.Delete(found)
		c.writes = append(c.writes, line(since, "delete", found.(stored)))
		return answer(r, http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}), nil
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, o)
	}
	if err != nil {
		c.err = fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
		return nil, c.err
	}
	action := "create"
	if r.Method == http.MethodPut {
		action = "update"
	}
	c.put(o)
	c.writes = append(c.writes, line(since, action, o))
	return answer(r, http.StatusOK, o), nil
}

// stored is a FlowSchema or a PriorityLevelConfiguration.
type stored interface {
	metav1.Object
	runtime.Object
}

// put stores an object, with the generation that the strategies of kube-apiserver give it.
func (c *cluster) put(o stored) {
	indexer := c.schemas
	if _, ok := o.(*flowcontrolv1.PriorityLevelConfiguration); ok {
		indexer = c.levels
	}
	o.SetGeneration(1)
	if old, ok, _ := indexer.GetByKey(o.GetName()); ok {
		o.SetGeneration(old.(stored).GetGeneration())
		if !reflect.DeepEqual(specOf(old.(stored)), specOf(o)) {
			o.SetGeneration(o.GetGeneration() + 1)
		}
	}
	indexer.Add(o)
}

func specOf(o stored) any {
	if s, ok := o.(*flowcontrolv1.FlowSchema); ok {
		return s.Spec
	}
	return o.(*flowcontrolv1.PriorityLevelConfiguration).Spec
}

// line describes a write by its time, what it does to which object, and what is stored then. The spec is
// written as apfsim reads it.
func line(since time.Duration, action string, o stored) string {
	kind, spec := "FlowSchema", any(nil)
	read := decode(o)
	if len(read.FlowSchemas) > 0 {
		spec = read.FlowSchemas[0].Spec
	} else {
		kind, spec = "PriorityLevelConfiguration", read.PriorityLevels[0].Spec
	}
	return describe(since, action, kind, o.GetName(), o.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey], o.GetGeneration(), spec)
}

func describe(since time.Duration, action, kind, name, annotation string, generation int64, spec any) string {
	text := fmt.Sprintf("%v %s %s %s", since, action, kind, name)
	if action == "delete" {
		return text
	}
	written, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s %q %d %s", text, annotation, generation, written)
}

// answer returns a response with an object.
func answer(r *http.Request, status int, o any) *http.Response {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
}

// sorted returns writes with the deletions of one kind at one time in the order of their names. The order
// of kube-apiserver is that of a Go map.
func sorted(writes []string) []string {
	group := func(w string) string { return strings.Join(strings.Fields(w)[:3], " ") }
	writes = slices.Clone(writes)
	for i := 0; i < len(writes); {
		j := i + 1
		for strings.Fields(writes[i])[1] == "delete" && j < len(writes) && group(writes[j]) == group(writes[i]) {
			j++
		}
		slices.Sort(writes[i:j])
		i = j
	}
	return writes
}

// objects is a configuration of apfsim.
type objects = config.Objects
