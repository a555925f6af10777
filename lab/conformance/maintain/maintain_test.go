// Package maintain compares what core/maintain writes to the flow-control objects with what the code of
// kube-apiserver writes: its post-start hook runs with virtual time on random objects, with an operator who
// edits them, and with times in which writes fail. It also compares simulated kubelets with the code of the
// kubelet, which is in the same module: the worker of probes, the back-off of restarts, the renewal of leases
// and the transport of client-go.
package maintain

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/rest"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/document/yaml"
)

var (
	seed   = flag.Uint64("seed", 1, "of the trials")
	trials = flag.Int("trials", 2000, "how many to compare")
)

// trial is what both sides get: the objects at the start, edits, and times in which writes fail.
type trial struct {
	objects []stored
	edits   []edit // in order of time
	outages [][2]time.Duration
}

// edit is an operator's write.
type edit struct {
	at     time.Duration
	object stored
	remove bool
}

// down reports whether writes fail.
func (tr *trial) down(since time.Duration) bool {
	return slices.ContainsFunc(tr.outages, func(o [2]time.Duration) bool { return o[0] <= since && since < o[1] })
}

// length is how long a trial takes: a server that cannot write anything gives up after five minutes.
const length = 400 * time.Second

// draw returns a random trial.
func draw(r *rand.Rand) *trial {
	tr := &trial{}
	var names []stored
	for _, o := range slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas) {
		names = append(names, o)
	}
	for _, o := range slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations) {
		names = append(names, o)
	}
	for i := range 3 {
		own := bootstrap.SuggestedFlowSchemaServiceAccounts.DeepCopy()
		own.Name = fmt.Sprintf("own-%d", i)
		level := bootstrap.SuggestedPriorityLevelConfigurationWorkloadLow.DeepCopy()
		level.Name = own.Name
		names = append(names, own, level)
	}
	most := r.Float64() // of some trials, most objects are as the servers have created them
	for _, o := range names {
		if r.Float64() < 0.8 {
			tr.objects = append(tr.objects, change(r, o, most))
		}
	}
	for at := time.Duration(0); r.Float64() < 0.8; {
		at += time.Duration(1+r.IntN(60_000_000_000)) * 3 / 2
		if at >= length {
			break
		}
		tr.edits = append(tr.edits, edit{at, change(r, names[r.IntN(len(names))], 0.3), r.Float64() < 0.3})
	}
	for at := time.Duration(0); r.Float64() < 0.3 && at < length; {
		if len(tr.outages) > 0 || r.Float64() < 0.5 {
			at += time.Duration(r.IntN(100_000_000_000))
		}
		end := at + time.Duration(r.IntN(70_000_000_000))
		if r.Float64() < 0.1 {
			end = at + length
		}
		tr.outages = append(tr.outages, [2]time.Duration{at, end})
		at = end
	}
	return tr
}

// change returns a copy of an object that is, with the given probability, as servers create it, and otherwise
// has another annotation, generation or spec. The spec is always one that kube-apiserver accepts.
func change(r *rand.Rand, o stored, same float64) stored {
	o = o.DeepCopyObject().(stored)
	o.SetGeneration(1)
	if r.Float64() < same {
		return o
	}
	switch value := []string{"none", "true", "false", "maybe", "T", "0", "", "True", "yes"}[r.IntN(9)]; value {
	case "none":
		o.SetAnnotations(nil)
	default:
		o.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: value, "other": "kept"})
	}
	o.SetGeneration(int64(1 + r.IntN(2)))
	if r.Float64() < 0.4 {
		return o
	}
	switch o := o.(type) {
	case *flowcontrolv1.FlowSchema:
		switch {
		case o.Name == config.Exempt || r.IntN(2) == 0:
			o.Spec.Rules = append(o.Spec.Rules, *bootstrap.SuggestedFlowSchemaProbes.Spec.Rules[0].DeepCopy())
		default:
			o.Spec.MatchingPrecedence = int32(2 + r.IntN(9000))
		}
	case *flowcontrolv1.PriorityLevelConfiguration:
		shares := int32(r.IntN(3) * 20)
		if o.Spec.Exempt != nil {
			o.Spec.Exempt.NominalConcurrencyShares = &shares
			break
		}
		o.Spec.Limited.NominalConcurrencyShares = &shares
		if r.IntN(2) == 0 {
			percent := int32(r.IntN(100))
			o.Spec.Limited.BorrowingLimitPercent = &percent
		}
	}
	return o
}

// decode reads an object as apfsim reads that of an export.
func decode(o stored) objects {
	kind := "FlowSchema"
	if _, ok := o.(*flowcontrolv1.PriorityLevelConfiguration); ok {
		kind = "PriorityLevelConfiguration"
	}
	o = o.DeepCopyObject().(stored)
	o.GetObjectKind().SetGroupVersionKind(flowcontrolv1.SchemeGroupVersion.WithKind(kind))
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	docs, mistakes := yaml.Parse("object", text)
	if err := mistakes.Err(); err != nil {
		panic(err)
	}
	decoded := config.Decode(docs...)
	if err := decoded.Errors.Err(); err != nil {
		panic(err)
	}
	return decoded.Objects
}

// upstream returns the writes of kube-apiserver.
func upstream(t *testing.T, tr *trial) (writes []string) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(tr.down)
		for _, o := range tr.objects {
			o = o.DeepCopyObject().(stored)
			generation := o.GetGeneration()
			c.put(o)
			o.SetGeneration(generation)
		}
		ctx, cancel := context.WithCancel(context.Background())
		_, hook, err := rest.RESTStorageProvider{InformerFactory: factory{nil, c}}.PostStartHook()
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan time.Duration, 1)
		go func() {
			err := hook(genericapiserver.PostStartHookContext{Context: ctx,
				LoopbackClientConfig: &restclient.Config{Host: "http://server", Transport: c, QPS: -1,
					ContentConfig: restclient.ContentConfig{ContentType: "application/json"}}})
			if err != nil {
				ended <- time.Since(c.begin)
			}
		}()
		for _, e := range tr.edits {
			time.Sleep(e.at - time.Since(c.begin))
			synctest.Wait()
			c.edit(e)
		}
		time.Sleep(length - time.Since(c.begin))
		synctest.Wait()
		writes = c.writes
		select {
		case at := <-ended:
			writes = append(writes, fmt.Sprintf("%v the server ends", at))
		default:
		}
		cancel()
		synctest.Wait()
		if c.err != nil {
			t.Fatal(c.err)
		}
	})
	return sorted(writes)
}

// edit makes an operator's write, of which nothing is recorded.
func (c *cluster) edit(e edit) {
	o := e.object.DeepCopyObject().(stored)
	if !e.remove {
		c.put(o)
		return
	}
	if _, ok := o.(*flowcontrolv1.FlowSchema); ok {
		c.schemas.Delete(o)
	} else {
		c.levels.Delete(o)
	}
}

// ours returns the writes of core/maintain.
func ours(tr *trial) (writes []string) {
	release := maintain.For(rules.Default())
	s := &maintain.Store{}
	for _, o := range tr.objects {
		s.Do(asStored(release, o))
	}
	edits := tr.edits
	schedule, now := release.Start(0), int64(0)
	for ends := false; now <= int64(length); { // the last instant included, as upstream
		for len(edits) > 0 && edits[0].at <= time.Duration(now) {
			operate(release, s, edits[0])
			edits = edits[1:]
		}
		if ends {
			return append(writes, fmt.Sprintf("%v the server ends", time.Duration(now)))
		}
		succeeded := true
		for _, w := range release.Pass(s, schedule.Starting()) {
			if succeeded = !tr.down(time.Duration(now)); !succeeded {
				break
			}
			s.Do(w)
			action := map[maintain.Action]string{maintain.Create: "create", maintain.Restore: "update", maintain.Annotate: "update", maintain.Delete: "delete"}[w.Action]
			o := w.Object()
			writes = append(writes, describe(time.Duration(now), action, o.Kind().String(), o.Name(), o.Annotation, o.Generation, o.Spec()))
		}
		now, ends = schedule.Next(now, succeeded)
	}
	return writes
}

// asStored returns the write that stores an object as it is.
func asStored(release *maintain.Release, o stored) maintain.Write {
	return maintain.Write{Action: maintain.Create, Reason: maintain.Operator, After: maintain.Of(release, decode(o)).All()[0]}
}

// operate makes an operator's write.
func operate(release *maintain.Release, s *maintain.Store, e edit) {
	after := *asStored(release, e.object).After
	before := s.Find(after.Kind(), after.Name())
	switch {
	case e.remove && before != nil:
		s.Do(maintain.Write{Action: maintain.Delete, Reason: maintain.Operator, Before: before})
	case e.remove:
	default:
		after.Generation = 1
		if before != nil {
			after.Generation = before.Generation
			if len(config.Differences(before.Spec(), after.Spec())) > 0 {
				after.Generation++
			}
		}
		s.Do(maintain.Write{Action: maintain.Edit, Reason: maintain.Operator, Before: before, After: &after})
	}
}

func TestMain(m *testing.M) {
	// It logs each failure.
	logging := flag.NewFlagSet("logging", flag.PanicOnError)
	klog.InitFlags(logging)
	logging.Set("logtostderr", "false")
	logging.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	m.Run()
}

// Both sides make the same writes at the same times in the same order.
func TestMaintain(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	total, ended, byAction := 0, 0, map[string]int{}
	for n := range *trials {
		tr := draw(r)
		want, got := upstream(t, tr), ours(tr)
		if !slices.Equal(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("trial %d of seed %d, write %d:\nours      %s\nupstream  %s", n, *seed, i, at(got, i), at(want, i))
				}
			}
		}
		for _, w := range want {
			byAction[strings.Fields(w)[1]]++
		}
		total += len(want)
		if len(want) > 0 && strings.HasSuffix(want[len(want)-1], "ends") {
			ended++
		}
	}
	t.Logf("%d trials of seed %d: %d writes are the same (%d create, %d update, %d delete); the server ends in %d trials",
		*trials, *seed, total-ended, byAction["create"], byAction["update"], byAction["delete"], ended)
	if ended == 0 || byAction["create"] == 0 || byAction["update"] == 0 || byAction["delete"] == 0 {
		t.Error("the trials do not have everything")
	}
}

func at(writes []string, i int) string {
	if i >= len(writes) {
		return "nothing"
	}
	return writes[i]
}
