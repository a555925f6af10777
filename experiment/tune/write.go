package tune

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"apfsim/core/config"
	"apfsim/document/yaml"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"

	"github.com/rogpeppe/go-internal/diff"
)

// Names of the files of an answer.
const (
	AnswerFile = "tune.json"
	ChangeFile = "change.yaml"
	DiffFile   = "change.diff"
)

// Files are the names of all of them.
var Files = []string{AnswerFile, ChangeFile, DiffFile, TrialsFile}

// Write adds the files of an answer to a set. Files with a change that an earlier answer has left are removed if there is
// none now.
func (a *Answer) Write(set *atomicfile.Set, dir string) error {
	var text strings.Builder
	if err := format.WriteJSON(&text, a); err != nil {
		return err
	}
	if err := set.Write(filepath.Join(dir, AnswerFile), []byte(text.String())); err != nil {
		return err
	}
	if err := a.search.journal.write(set, dir); err != nil {
		return err
	}
	if a.Selected == nil {
		set.Remove(filepath.Join(dir, ChangeFile))
		set.Remove(filepath.Join(dir, DiffFile))
		return nil
	}
	change, err := a.Manifest()
	if err != nil {
		return err
	}
	before, err := a.objectsText(a.former(), false)
	if err != nil {
		return err
	}
	if err := set.Write(filepath.Join(dir, ChangeFile), change); err != nil {
		return err
	}
	return set.Write(filepath.Join(dir, DiffFile), diff.Diff("present.yaml", []byte(before), ChangeFile, change))
}

// Manifest returns the objects of the selected change for kubectl apply, in a version that the release serves. A comment
// says how to undo it, and what the servers have to be started with.
func (a *Answer) Manifest() ([]byte, error) {
	c := a.Selected
	var head strings.Builder
	fmt.Fprintf(&head, "# %s\n", c.Sentence)
	if c.requests > 0 {
		fmt.Fprintf(&head, "# kube-apiserver: --max-requests-inflight=%d\n", c.requests)
	}
	var added []string
	changed := false
	for _, s := range c.objects.FlowSchemas {
		if a.search.present.Objects.FlowSchema(s.Name) == nil {
			added = append(added, "flowschema/"+s.Name)
		} else {
			changed = true
		}
	}
	for _, l := range c.objects.PriorityLevels {
		if a.search.present.Objects.PriorityLevel(l.Name) == nil {
			added = append(added, "prioritylevelconfiguration/"+l.Name)
		} else {
			changed = true
		}
	}
	if len(added) > 0 {
		fmt.Fprintf(&head, "# To undo it: kubectl delete %s\n", strings.Join(added, " "))
	}
	if changed {
		fmt.Fprintf(&head, "# To undo it: patch -R change.yaml < %s, then kubectl apply -f change.yaml\n", DiffFile)
	}
	text, err := a.objectsText(c.objects, true)
	return []byte(head.String() + text), err
}

// former returns the objects that the selected change changes, as they are now.
func (a *Answer) former() (former config.Objects) {
	for _, s := range a.Selected.objects.FlowSchemas {
		if old := a.search.present.Objects.FlowSchema(s.Name); old != nil {
			former.FlowSchemas = append(former.FlowSchemas, old)
		}
	}
	for _, l := range a.Selected.objects.PriorityLevels {
		if old := a.search.present.Objects.PriorityLevel(l.Name); old != nil {
			former.PriorityLevels = append(former.PriorityLevels, old)
		}
	}
	return former
}

// objectsText writes objects as YAML, "" without any. With keep, those that servers maintain get the annotation with which
// servers leave a change as it is.
func (a *Answer) objectsText(o config.Objects, keep bool) (string, error) {
	if len(o.FlowSchemas)+len(o.PriorityLevels) == 0 {
		return "", nil
	}
	list := o.Manifest(a.search.problem.rules).(map[string]any)
	for _, item := range list["items"].([]any) {
		object := item.(map[string]any)
		metadata := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if keep && object["kind"] == "PriorityLevelConfiguration" && a.search.problem.builtIn.PriorityLevel(name) != nil {
			metadata["annotations"] = map[string]any{config.AutoupdateAnnotation: "false"}
		}
	}
	text, err := yaml.Marshal(list)
	return string(text), err
}

// textOf writes a value of a field as JSON, and a text as it is.
func textOf(v any) string {
	var text string
	b, err := json.Marshal(v)
	if err != nil {
		panic("tune: a value that cannot be JSON: " + err.Error())
	}
	if json.Unmarshal(b, &text) == nil {
		return text
	}
	return string(b)
}
