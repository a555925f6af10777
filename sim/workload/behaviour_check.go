package workload

import (
	"errors"
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// check checks the behaviour at path.
func (b *Behaviour) check(c *checker, path string) {
	switch {
	case b.Informer != nil:
		i, at := b.Informer, path+".informer"
		c.selection(at, &i.Selection)
	case b.Controller != nil:
		c.controller(path+".controller", b.Controller)
	case b.LeaderElection != nil:
		c.election(path+".leaderElection", b.LeaderElection)
	case b.Kubelet != nil:
		k, at := b.Kubelet, path+".kubelet"
		if k.Churn > 0 && k.Pods == 0 {
			c.Fail(at+".churn", "needs pods, which end and are replaced")
		}
	case b.Writer != nil:
		c.writer(path+".writer", b.Writer)
	case b.EventRecorder != nil:
		e, at := b.EventRecorder, path+".eventRecorder"
		c.bucket(at, e.QPS, e.Burst)
	case b.Lister != nil:
		l, at := b.Lister, path+".lister"
		c.selection(at, &l.Selection)
		c.every(at+".every", l.Every)
		if n, err := strconv.ParseInt(l.ResourceVersion, 10, 64); l.ResourceVersion != "" && (err != nil || n < 0) {
			c.Fail(at+".resourceVersion", "%q: want a version, 0 for any, or nothing for the latest", document.Abridge(l.ResourceVersion))
		}
	case b.Kubectl != nil:
		k, at := b.Kubectl, path+".kubectl"
		c.resource(at+".resource", k.Group, k.Resource)
		c.every(at+".every", k.Every)
		c.templates(at, field{"namespace", k.Namespace}, field{"name", k.Name})
		if k.Name == "" && (k.Command == ApplyClient || k.Command == ApplyServer || k.Command == Delete) {
			c.Fail(at+".name", "is missing; want the name of the object")
		}
	}
}

func (c *checker) resource(path, group, name string) {
	ofName, resource := SplitResource(name)
	switch {
	case name == "":
		c.Fail(path, "is missing")
	case ofName != "" && resource != "":
		c.Fail(path, "%q: want %s, and group: %s beside it", document.Abridge(name), document.Abridge(resource), document.Abridge(ofName))
	case strings.ContainsAny(name, "/. {}"):
		c.Fail(path, "%q: want no slashes, dots, spaces or braces", document.Abridge(name))
	default:
		c.known(path, group, name)
	}
}

// known warns of a resource that no server has.
func (c *checker) known(path, group, name string) {
	if problem := classify.UnknownResource(group, name); problem != "" {
		c.Warn(path, "%s", problem)
	}
}

// field is a text of a behaviour.
type field struct{ name, text string }

// templates checks that {i} is the only thing in braces.
func (c *checker) templates(path string, fields ...field) {
	for _, f := range fields {
		if strings.ContainsAny(strings.ReplaceAll(f.text, "{i}", ""), "{}") {
			c.Fail(path+"."+f.name, "%q: want no braces except {i}, which is replaced by the client's index", document.Abridge(f.text))
		}
	}
}

// bucket checks the rate limiter of clients.
func (c *checker) bucket(path string, qps float64, burst int) {
	if qps > 0 && burst < 1 {
		c.Fail(path+".burst", "%d: want 1 or more", burst)
	}
}

func (c *checker) every(path string, d quantity.Distribution) {
	if d.Given() && d.MeanNs() <= 0 {
		c.Fail(path, "is always 0s; want more than 0s, as the client would never end to send")
	}
}

func (c *checker) selection(path string, s *Selection) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.templates(path, field{"namespace", s.Namespace}, field{"labelSelector", s.LabelSelector}, field{"fieldSelector", s.FieldSelector})
	for _, f := range []struct{ name, labels, fields string }{
		{"labelSelector", strings.ReplaceAll(s.LabelSelector, "{i}", "0"), ""},
		{"fieldSelector", "", strings.ReplaceAll(s.FieldSelector, "{i}", "0")},
	} {
		if _, err := request.ParseSelector(f.labels, f.fields); err != nil {
			c.Fail(path+"."+f.name, "%q: %v; a server answers 400", document.Abridge(f.labels+f.fields), errors.Unwrap(err))
		}
	}
}

func (c *checker) controller(path string, k *Controller) {
	if k.Watches == "" {
		c.Fail(path+".watches", "is missing")
	} else if strings.ContainsAny(k.Watches, "/ {}") {
		c.Fail(path+".watches", "%q: want a resource, such as pods or deployments.apps", document.Abridge(k.Watches))
	} else {
		group, resource := SplitResource(k.Watches)
		c.known(path+".watches", group, resource)
	}
	for i := range k.Reconcile {
		s, at := &k.Reconcile[i], document.Index(path+".reconcile", i)
		c.resource(at+".resource", s.Group, s.Resource)
	}
	if q := k.Queue; q.Max < q.Base {
		c.Fail(path+".queue.max", "%v: want at least base, %v", q.Max, q.Base)
	}
	if q := k.Queue; q.QPS > 0 && q.Burst < 1 {
		c.Fail(path+".queue.burst", "%d: want 1 or more", q.Burst)
	}
	c.bucket(path, k.QPS, k.Burst)
}

func (c *checker) election(path string, l *LeaderElection) {
	if namespace, name, ok := strings.Cut(l.Lease, "/"); !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		c.Fail(path+".lease", "%q: want a namespace and a name, such as kube-system/scheduler", document.Abridge(l.Lease))
	}
	c.templates(path, field{"lease", l.Lease})
	// As client-go demands (tools/leaderelection/leaderelection.go, NewLeaderElector).
	if l.LeaseDuration <= l.RenewDeadline {
		c.Fail(path+".leaseDuration", "%v: want more than renewDeadline, %v", l.LeaseDuration, l.RenewDeadline)
	}
	if float64(l.RenewDeadline) <= 1.2*float64(l.RetryPeriod) {
		c.Fail(path+".renewDeadline", "%v: want more than 1.2 times retryPeriod, %v", l.RenewDeadline, l.RetryPeriod)
	}
}

func (c *checker) writer(path string, w *Writer) {
	c.resource(path+".resource", w.Group, w.Resource)
	c.every(path+".every", w.Every)
	c.templates(path, field{"namespace", w.Namespace}, field{"field", w.Field})
	if w.Force && w.With != Apply {
		c.Fail(path+".force", "needs with: Apply")
	}
	if !w.Version && w.With != Put {
		c.Fail(path+".version", "needs with: Put; a patch and an apply carry none")
	}
}

// Name writes a resource like deployments.apps.
func ResourceName(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// Resource returns the group and the name of a resource that is written like deployments.apps.
func SplitResource(text string) (group, resource string) {
	resource, group, _ = strings.Cut(text, ".")
	return group, resource
}
