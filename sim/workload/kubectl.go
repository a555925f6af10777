package workload

import (
	"strconv"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
)

// The commands of kubectl.
const (
	Get         = "get"
	ApplyClient = "apply"
	ApplyServer = "apply --server-side"
	Delete      = "delete"
)

// Kubectl runs a command of kubectl again and again.
type Kubectl struct {
	Command   string                `json:"command" document:"required" jsonschema:"enum=get,enum=apply,enum=apply --server-side,enum=delete" jsonschema_description:"get lists in chunks of 500; apply reads and patches, up to 5 times; apply --server-side sends one apply."`
	Group     string                `json:"group,omitempty"`
	Resource  string                `json:"resource" document:"required"`
	Namespace string                `json:"namespace,omitempty"`
	Name      string                `json:"name,omitempty" jsonschema_description:"Of the object; {i} is replaced by the client's index."`
	Every     quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the end of a command to the beginning of the next."`
}

func (s *Kubectl) check(c *checker, path string) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.every(path+".every", s.Every)
	c.templates(path, field{"namespace", s.Namespace}, field{"name", s.Name})
	if s.Name == "" && (s.Command == ApplyClient || s.Command == ApplyServer || s.Command == Delete) {
		c.Fail(path+".name", "is missing; want the name of the object")
	}
}

func (s *Kubectl) resources() []string { return []string{request.JoinResource(s.Group, s.Resource)} }

func (s *Kubectl) rateLimit() *RateLimit { return clientGoLimit(0, 0) }

const (
	// mostPatchRetries is how often an apply is repeated after conflicts, and patchRetryNs the wait before each
	// repetition but the first (k8s.io/kubectl, pkg/cmd/apply/patcher.go: maxPatchRetry, patchRetryBackOffPeriod and
	// triesBeforeBackOff).
	mostPatchRetries = 5
	patchRetryNs     = 1_000_000_000

	// kubectlManager is the field manager of kubectl apply --server-side (pkg/cmd/apply/apply.go).
	kubectlManager = "kubectl"

	// appliedField stands for what the applied file says. Each time it says something else: what is there already
	// is not patched.
	appliedField = "spec.applied"
)

// kubectlStep is the request of a command that is under way.
type kubectlStep uint8

const (
	lists kubectlStep = iota
	gets
	creates
	patches
	deletes
	looks // gets, to see whether the deletion is over
	waits // watches the object until it is gone
)

// kubectl runs one command of kubectl again and again. Its discovery of the API is not simulated, which it caches
// in files for six hours.
type kubectl struct {
	repeated
	settings  *Kubectl
	selected  ReflectorSettings
	step      kubectlStep
	pager     pager
	conflicts int
	applied   int64 // commands so far
	beganNs   int64
	retry     clock.AlarmID
	deleted   *Reflector // of the object that is being deleted
}

// commandToken is the token of all requests but those of the reflector.
const commandToken = tokensPerReflector

// Machine returns a client that runs a command.
func (s *Kubectl) Machine(c Client) Machine {
	k := &kubectl{settings: s}
	k.selected = ReflectorSettings{Group: s.Group, Resource: s.Resource, Namespace: expand(s.Namespace, c.Index()), Name: expand(s.Name, c.Index()), WatchList: true}
	k.open(c, s.Every, k.run)
	return k
}

// run begins a command.
func (k *kubectl) run(nowNs int64) {
	k.beganNs, k.conflicts = nowNs, 0
	k.applied++
	switch k.settings.Command {
	case Get:
		if k.selected.Name == "" {
			k.pager = pager{Limit: defaultPageSize}
			k.list(nowNs)
			return
		}
		k.send(nowNs, gets, "get", api.Call{})
	case ApplyClient:
		k.send(nowNs, gets, "get", api.Call{})
	case ApplyServer:
		c := api.Call{Body: k.body()}
		c.Body.Patch = api.ApplyPatch
		c.Options.FieldManager = kubectlManager
		k.send(nowNs, patches, "patch", c)
	case Delete:
		k.send(nowNs, deletes, "delete", api.Call{})
	}
}

// body returns what the applied file says this time.
func (k *kubectl) body() *api.Body {
	return &api.Body{Fields: map[string]string{appliedField: strconv.FormatInt(k.applied, 10)}}
}

func (k *kubectl) send(nowNs int64, step kubectlStep, verb string, c api.Call) {
	k.step = step
	q := &APIRequest{Verb: verb, Group: k.selected.Group, Resource: k.selected.Resource, Namespace: k.selected.Namespace, Name: k.selected.Name, Call: c, Token: commandToken}
	if verb == "create" {
		q.Name, c.Body.Name = "", k.selected.Name
	}
	k.client.Send(nowNs, q)
}

// list asks for the next page (k8s.io/cli-runtime, pkg/resource/helper.go, FollowContinue).
func (k *kubectl) list(nowNs int64) {
	k.step = lists
	q := k.selected.Request("list", k.pager.Options())
	q.Token = commandToken
	k.client.Send(nowNs, q)
}

// Answered implements Machine.
func (k *kubectl) Answered(nowNs int64, token int32, a *api.Answer) {
	if token != commandToken {
		k.deleted.Answered(nowNs, token, a)
		return
	}
	ok := a.Status >= 200 && a.Status < 300
	switch {
	case k.step == lists && ok && k.pager.Add(a):
		k.list(nowNs)
	case k.step == lists && a.Status == 410: // kubectl says that the list is inconsistent, and ends
		k.client.Note(nowNs, Note{Event: metric.Expired, Object: k.selected.Resource})
		k.end(nowNs)
	case k.step == gets && k.settings.Command == ApplyClient && ok:
		k.send(nowNs, patches, "patch", api.Call{Body: k.body()})
	case k.step == gets && k.settings.Command == ApplyClient && a.Status == 404:
		k.send(nowNs, creates, "create", api.Call{Body: k.body()})
	case k.step == patches && a.Status == 409:
		k.conflict(nowNs)
	case (k.step == patches || k.step == creates) && ok:
		k.client.Note(nowNs, Note{Event: metric.WriteDone, Object: k.selected.Resource, N: int64(k.conflicts) + 1, Ns: nowNs - k.beganNs})
		k.end(nowNs)
	case k.step == deletes && ok:
		k.send(nowNs, looks, "get", api.Call{})
	case k.step == looks && ok:
		k.wait(nowNs)
	default:
		if k.step == patches || k.step == creates {
			k.lose(nowNs)
		}
		k.end(nowNs)
	}
}

// conflict repeats a client-side apply after a conflict; a server-side one has to be forced by its user.
func (k *kubectl) conflict(nowNs int64) {
	k.client.Note(nowNs, Note{Event: metric.Conflicted, Object: k.selected.Resource})
	k.conflicts++
	switch {
	case k.settings.Command == ApplyServer || k.conflicts > mostPatchRetries:
		k.lose(nowNs)
		k.end(nowNs)
	case k.conflicts == 1:
		k.send(nowNs, gets, "get", api.Call{})
	default:
		k.retry = k.client.Alarms().Set(nowNs+patchRetryNs, retry{k})
	}
}

// retry is the alarm that repeats an apply.
type retry struct{ *kubectl }

// Ring implements clock.Alarm.
func (r retry) Ring(nowNs int64) {
	r.retry = clock.AlarmID{}
	r.send(nowNs, gets, "get", api.Call{})
}

func (k *kubectl) lose(nowNs int64) {
	k.client.Note(nowNs, Note{Event: metric.WriteLost, Object: k.selected.Resource, N: int64(max(1, k.conflicts)), Ns: nowNs - k.beganNs})
}

// wait watches an object until it is gone (pkg/cmd/wait/delete.go, IsDeleted).
func (k *kubectl) wait(nowNs int64) {
	k.step = waits
	k.deleted = NewReflector(k.selected, k.client, &k.chance, k)
	k.deleted.Start(nowNs)
}

// Received implements Machine.
func (k *kubectl) Received(nowNs int64, token int32, e *api.Event) {
	k.deleted.Received(nowNs, token, e)
}

// Changed implements Handler.
func (k *kubectl) Changed(int64, *Reflector, *api.Object, *api.Object) {}

// Deleted implements Handler.
func (k *kubectl) Deleted(nowNs int64, r *Reflector, _ *api.Object) { k.gone(nowNs, r) }

// Listed implements Handler: the object may be gone already.
func (k *kubectl) Listed(nowNs int64, r *Reflector) {
	if r.Len() == 0 {
		k.gone(nowNs, r)
	}
}

// gone ends a deletion.
func (k *kubectl) gone(nowNs int64, r *Reflector) {
	if k.step == waits {
		r.Stop(nowNs)
		k.end(nowNs)
	}
}

// end ends a command.
func (k *kubectl) end(nowNs int64) {
	k.step = lists
	k.scheduleAt(nowNs + k.interval())
}
