package writers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
)

// recorderStory is how often what happens, and how the server answers.
type recorderStory struct {
	name string
	workload.EventRecorder
	until time.Duration
	rules Rules
}

const recorderSeed = 11

// always is more messages than there are events: no message comes twice.
const always = 1 << 40

var recorderStories = []recorderStory{
	{name: "N14: 100 identical events in a minute", until: time.Minute, EventRecorder: workload.EventRecorder{Rate: 100. / 60, Objects: 1, Reasons: 1}},
	{name: "the bucket is refilled", until: 3000 * time.Second, EventRecorder: workload.EventRecorder{Rate: 0.05, Objects: 1, Reasons: 1}},
	{name: "different messages are combined", until: 100 * time.Second, EventRecorder: workload.EventRecorder{Rate: 1, Objects: 3, Reasons: always}},
	{name: "few messages are not", until: 300 * time.Second, EventRecorder: workload.EventRecorder{Rate: 1, Objects: 3, Reasons: 9}},
	{name: "silence of more than 600 s", until: 30_000 * time.Second, EventRecorder: workload.EventRecorder{Rate: 1. / 400, Objects: 1, Reasons: always}},
	{name: "more than one at a time", until: 10 * time.Second, EventRecorder: workload.EventRecorder{Rate: 1000, Objects: 500, Reasons: 3}},
	{name: "more objects than are remembered", until: 150 * time.Second, EventRecorder: workload.EventRecorder{Rate: 99, Objects: 6000, Reasons: 2}},
	{name: "refused events", until: 300 * time.Second, EventRecorder: workload.EventRecorder{Rate: 0.5, Objects: 4, Reasons: 2},
		rules: Rules{Fails: func(r Request) int {
			if r.between(5*time.Second, 60*time.Second) {
				return 500
			}
			return 0
		}}},
	{name: "refused at first", until: 300 * time.Second, EventRecorder: workload.EventRecorder{Rate: 0.5, Objects: 4, Reasons: 2},
		rules: Rules{Fails: func(r Request) int {
			if r.between(0, 30*time.Second) {
				return 403
			}
			return 0
		}}},
}

// happening is an event of an object.
type happening struct {
	atNs            int64
	object, message int
}

// happenings returns what happens to apfsim's recorder.
func (s *recorderStory) happenings() (all []happening) {
	r := stream(recorderSeed)
	atNs := int64(r.ExpFloat64() / float64(s.Rate) * float64(time.Second))
	for atNs < int64(s.until) {
		nextNs := atNs + int64(r.ExpFloat64()/float64(s.Rate)*float64(time.Second))
		all = append(all, happening{atNs, r.IntN(s.Objects), r.IntN(s.Reasons)})
		atNs = nextNs
	}
	return all
}

// theirRecorder runs client-go's recorder and broadcaster.
func theirRecorder(t *testing.T, story recorderStory) *Server {
	server := NewServer(story.rules)
	synctest.Test(t, func(t *testing.T) {
		client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://server", QPS: -1, Transport: server.Transport(0, time.Now()),
			ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events("")})
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "test"})
		begin := time.Now()
		for _, e := range story.happenings() {
			time.Sleep(time.Duration(e.atNs) - time.Since(begin))
			about := &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "default", Name: fmt.Sprintf("object-%d", e.object), UID: "1"}
			recorder.Event(about, corev1.EventTypeNormal, "Reason", fmt.Sprintf("message %d", e.message))
		}
		time.Sleep(story.until - time.Since(begin))
		broadcaster.Shutdown()
		time.Sleep(time.Minute)
	})
	return server
}

// ourRecorder runs apfsim's recorder.
func ourRecorder(story recorderStory) *Server {
	server := NewServer(story.rules)
	c := Client{workloadtest.New(nil), recorderSeed}
	server.Serve(c.Client)
	c.Run((&story.EventRecorder).Machine(c), int64(story.until))
	return server
}

// The recorder of apfsim sends what client-go's sends, at the same times.
func TestRecorder(t *testing.T) {
	for _, story := range recorderStories {
		t.Run(story.name, func(t *testing.T) {
			compareLogs(t, theirRecorder(t, story).Log, ourRecorder(story).Log, story.until)
		})
	}
}
