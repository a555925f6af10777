// Package behaviours runs clients of Kubernetes with their own code, so that package workload of apfsim can be
// compared with them. It must run in a bubble of testing/synctest, where time is virtual.
package behaviours

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/workload/workloadtest"
)

// features says whether reflectors begin with a watch that sends the objects first.
type features struct {
	clientfeatures.Gates
	watchList bool
}

// Enabled implements clientfeatures.Gates.
func (f features) Enabled(key clientfeatures.Feature) bool {
	if key == clientfeatures.WatchListClient {
		return f.watchList
	}
	return f.Gates.Enabled(key)
}

// RunReflector runs client-go's reflector against a script, and returns the lists and watches that it has sent,
// as workloadtest.Sent writes them. Its back-off is client-go's own, but without jitter.
func RunReflector(s *workloadtest.Script) string {
	before := clientfeatures.FeatureGates()
	clientfeatures.ReplaceFeatureGates(features{before, s.WatchList})
	defer clientfeatures.ReplaceFeatureGates(before)

	server := &scripted{replies: s.Replies, began: time.Now()}
	// The constants are those of tools/cache/reflector.go, defaultBackoffInit and the others.
	backoff := &wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2}
	r := cache.NewReflectorWithOptions(server, &v1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc),
		cache.ReflectorOptions{Name: "scripted", Backoff: backoff})
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.UntilNs)+1)
	defer cancel()
	r.RunWithContext(ctx)
	synctest.Wait()
	return server.log()
}

// scripted is a cache.ListerWatcher that answers by a script.
type scripted struct {
	mu      sync.Mutex
	replies []workloadtest.Reply
	began   time.Time
	sent    string
	invalid string // timeoutSeconds that are out of bounds
}

func (s *scripted) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent + s.invalid
}

// next writes a request down and returns the reply to it, or false after the last.
func (s *scripted) next(verb string, o metav1.ListOptions) (r workloadtest.Reply, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	options := request.Options{
		Match:     map[metav1.ResourceVersionMatch]request.Match{"": request.NoMatch, "NotOlderThan": request.NotOlderThan, "Exact": request.Exact}[o.ResourceVersionMatch],
		Bookmarks: o.AllowWatchBookmarks,
		Limit:     o.Limit,
		Continue:  o.Continue,
	}
	if o.ResourceVersion != "" {
		n, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
		if err != nil {
			panic(err)
		}
		options.Version = request.At(n)
	}
	if o.SendInitialEvents != nil {
		options.SendInitialEventsGiven, options.SendInitialEvents = true, *o.SendInitialEvents
	}
	s.sent += fmt.Sprintf("%v %s pods%s\n", time.Since(s.began), verb, workloadtest.Options(&options))
	if verb == "watch" && (o.TimeoutSeconds == nil || *o.TimeoutSeconds < 300 || *o.TimeoutSeconds >= 600) {
		s.invalid += "timeoutSeconds is out of bounds\n"
	}
	if len(s.replies) == 0 {
		return r, false
	}
	r = s.replies[0]
	s.replies = s.replies[1:]
	return r, true
}

// List implements cache.Lister.
func (s *scripted) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// Watch implements cache.Watcher.
func (s *scripted) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// ListWithContext implements cache.ListerWithContext.
func (s *scripted) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	r, ok := s.next("list", o)
	if !ok {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := failure(r.Answer); err != nil {
		return nil, err
	}
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(r.Answer.Version, 10), Continue: r.Answer.Continue}}
	for _, o := range r.Answer.Objects {
		list.Items = append(list.Items, *pod(o))
	}
	return list, nil
}

// WatchWithContext implements cache.WatcherWithContext.
func (s *scripted) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	r, ok := s.next("watch", o)
	if err := failure(r.Answer); ok && err != nil {
		return nil, err
	}
	stream, done := make(chan watch.Event), make(chan struct{})
	w := watch.NewProxyWatcher(stream)
	go func() {
		<-w.StopChan()
		close(done)
	}()
	go func() {
		for _, st := range r.Watch {
			select {
			case <-time.After(time.Duration(st.AfterNs)):
			case <-done:
				return
			}
			if st.Event == nil {
				close(stream)
				return
			}
			select {
			case stream <- event(st.Event):
			case <-done:
				return
			}
		}
	}()
	return w, nil
}

// event returns an event as a watch of client-go has it.
func event(e *api.Event) watch.Event {
	switch e.Type {
	case api.Bookmark:
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(e.Version, 10)}}
		if e.InitialEnd {
			p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		}
		return watch.Event{Type: watch.Bookmark, Object: p}
	case api.Error:
		err := failure(e.Failure).(*apierrors.StatusError)
		return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
	}
	return watch.Event{Type: watch.EventType(e.Type.String()), Object: pod(e.Object)}
}

func pod(o *api.Object) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, ResourceVersion: strconv.FormatInt(o.Version, 10)}}
}

// failure returns the error of an answer, nil for one without.
func failure(a *api.Answer) error {
	switch {
	case a == nil || a.Status == 200:
		return nil
	case a.Failure == api.FailedToConnect:
		return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	err := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(a.Status), Details: &metav1.StatusDetails{}}}
	err.ErrStatus.Reason = map[int]metav1.StatusReason{
		410: metav1.StatusReasonExpired,
		422: metav1.StatusReasonInvalid,
		429: metav1.StatusReasonTooManyRequests,
		500: metav1.StatusReasonInternalError,
		504: metav1.StatusReasonTimeout,
	}[a.Status]
	for _, c := range a.Causes {
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(c.Reason)})
	}
	return err
}
