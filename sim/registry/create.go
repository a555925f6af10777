package registry

import (
	"apfsim/sim/api"
)

// The names that are generated (k8s.io/apiserver, pkg/storage/names).
const (
	nameLetters   = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength  = 5
	maxNameLength = 63
)

// beginCreate is POST (pkg/registry/generic/registry/store.go, Create).
func (op *Operation) beginCreate(nowNs int64) {
	body := op.body
	op.Name = body.Name
	if op.Name == "" && body.GenerateName == "" {
		op.Answer.RefuseField("FieldValueRequired", "metadata.name")
		op.finish(nowNs)
		return
	}
	op.tryName(nowNs)
}

// tryName tries to create the object, under another name each time if the server generates it.
func (op *Operation) tryName(nowNs int64) {
	body := op.body
	if body.Name == "" {
		op.Name = op.registry.generate(body.GenerateName)
	}
	op.tries++
	op.write.Name = op.Name
	op.write.New(nowNs)
	if op.Call.Options.DryRun {
		op.read(nowNs, creating)
		return
	}
	if v := body.Version; v.Given && v.N != 0 { // one that is not a number is ignored
		op.refuse(api.NoReason)
		op.finish(nowNs)
		return
	}
	if op.resource.data.NeedsLease(nowNs) {
		op.commit(nowNs, creatingLease)
		return
	}
	op.commit(nowNs, creating)
}

func (op *Operation) resumeCreate(nowNs int64) {
	switch op.step {
	case creatingLease:
		op.commit(nowNs, creating)
	case creating:
		if op.Call.Options.DryRun {
			if op.resource.data.Get(op.Namespace, op.Name) != nil {
				op.read(nowNs, creatingExists)
				return
			}
			op.succeedDryCreate()
			op.finish(nowNs)
			return
		}
		op.owedNs += roundNs
		stored, ok := op.resource.data.Put(nowNs, &op.write.Next, 0)
		if !ok {
			op.read(nowNs, creatingExists)
			return
		}
		op.Answer.Wrote = true
		op.succeed(201, stored)
		op.finish(nowNs)
	case creatingExists:
		op.refuse(api.AlreadyExists)
		if op.body.Name == "" {
			if op.tries < op.registry.rules.NameTries {
				op.tryName(nowNs)
				return
			}
			op.Answer.RetryAfterSeconds = 1 // CheckGeneratedNameError
		}
		op.finish(nowNs)
	}
}

// succeedDryCreate answers a dry run that would create an object: with the version of the body, and a UID that
// no object has.
func (op *Operation) succeedDryCreate() {
	o := new(api.Object)
	*o = op.write.Next
	o.UID = noUID
	o.Version = op.body.Version.N
	op.succeed(201, o)
}

// noUID is a UID that no object has.
const noUID = -1

// generate returns a name that begins with a prefix.
func (r *Registry) generate(prefix string) string {
	if len(prefix) > maxNameLength-suffixLength {
		prefix = prefix[:maxNameLength-suffixLength]
	}
	name := []byte(prefix)
	for range suffixLength {
		name = append(name, nameLetters[r.names.IntN(len(nameLetters))])
	}
	return string(name)
}
