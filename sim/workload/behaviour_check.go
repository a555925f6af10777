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
	if name, k := b.kind(); k != nil {
		k.check(c, path+"."+name)
	}
}

func (s *Informer) check(c *checker, path string) { c.selection(path, &s.Selection) }

func (s *Kubelet) check(c *checker, path string) {
	if s.Churn > 0 && s.Pods == 0 {
		c.Fail(path+".churn", "needs pods, which end and are replaced")
	}
}

func (s *EventRecorder) check(c *checker, path string) { c.bucket(path, s.QPS, s.Burst) }

func (s *Lister) check(c *checker, path string) {
	c.selection(path, &s.Selection)
	c.every(path+".every", s.Every)
	if n, err := strconv.ParseInt(s.ResourceVersion, 10, 64); s.ResourceVersion != "" && (err != nil || n < 0) {
		c.Fail(path+".resourceVersion", "%q: want a version, 0 for any, or nothing for the latest", document.Abridge(s.ResourceVersion))
	}
}

func (s *Kubectl) check(c *checker, path string) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.every(path+".every", s.Every)
	c.templates(path, field{"namespace", s.Namespace}, field{"name", s.Name})
	if s.Name == "" && (s.Command == ApplyClient || s.Command == ApplyServer || s.Command == Delete) {
		c.Fail(path+".name", "is missing; want the name of the object")
	}
}

func (c *checker) resource(path, group, name string) {
	inName, resource := SplitResource(name)
	switch {
	case name == "":
		c.Fail(path, "is missing")
	case inName != "" && resource != "":
		c.Fail(path, "%q: want %s, and group: %s beside it", document.Abridge(name), document.Abridge(resource), document.Abridge(inName))
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

func (s *Controller) check(c *checker, path string) {
	if s.Watches == "" {
		c.Fail(path+".watches", "is missing")
	} else if strings.ContainsAny(s.Watches, "/ {}") {
		c.Fail(path+".watches", "%q: want a resource, such as pods or deployments.apps", document.Abridge(s.Watches))
	} else {
		group, resource := SplitResource(s.Watches)
		c.known(path+".watches", group, resource)
	}
	for i := range s.Reconcile {
		step, at := &s.Reconcile[i], document.Index(path+".reconcile", i)
		c.resource(at+".resource", step.Group, step.Resource)
	}
	s.Queue.check(c, path+".queue")
	c.bucket(path, s.QPS, s.Burst)
}

func (q *Queue) check(c *checker, path string) {
	if q.Max < q.Base {
		c.Fail(path+".max", "%v: want at least base, %v", q.Max, q.Base)
	}
	c.bucket(path, q.QPS, q.Burst)
}

func (s *LeaderElection) check(c *checker, path string) {
	if namespace, name, ok := strings.Cut(s.Lease, "/"); !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		c.Fail(path+".lease", "%q: want a namespace and a name, such as kube-system/scheduler", document.Abridge(s.Lease))
	}
	c.templates(path, field{"lease", s.Lease})
	// As client-go demands (tools/leaderelection/leaderelection.go, NewLeaderElector).
	if s.LeaseDuration <= s.RenewDeadline {
		c.Fail(path+".leaseDuration", "%v: want more than renewDeadline, %v", s.LeaseDuration, s.RenewDeadline)
	}
	if float64(s.RenewDeadline) <= 1.2*float64(s.RetryPeriod) {
		c.Fail(path+".renewDeadline", "%v: want more than 1.2 times retryPeriod, %v", s.RenewDeadline, s.RetryPeriod)
	}
}

func (s *Writer) check(c *checker, path string) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.every(path+".every", s.Every)
	c.templates(path, field{"namespace", s.Namespace}, field{"field", s.Field})
	if s.Force && s.With != Apply {
		c.Fail(path+".force", "needs with: Apply")
	}
	if !s.Version && s.With != Put {
		c.Fail(path+".version", "needs with: Put; a patch and an apply carry none")
	}
}

// ResourceName writes a resource like deployments.apps.
func ResourceName(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// SplitResource returns the group and the name of a resource that is written like deployments.apps.
func SplitResource(text string) (group, resource string) {
	resource, group, _ = strings.Cut(text, ".")
	return group, resource
}
