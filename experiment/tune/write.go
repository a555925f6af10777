package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/document/yaml"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"

	"github.com/rogpeppe/go-internal/diff"
)

// Names of the files of an answer.
const (
	AnswerFile = "tune.json"
	PageFile   = "tune.html"
	ChangeFile = "change.yaml"
	DiffFile   = "change.diff"
	UndoFile   = "undo.yaml"
)

// Files are the names of all of them.
var Files = []string{AnswerFile, PageFile, ChangeFile, DiffFile, UndoFile, TrialsFile}

// Write adds the files of an answer to a set. If the answer has no change, files with the change of an
// earlier answer are removed.
func (a *Answer) Write(set *atomicfile.Set, dir string) error {
	contents, err := a.changeFiles()
	if err != nil {
		return err
	}
	contents[TrialsFile] = a.search.journal.text()
	return writeFiles(set, dir, a.Document(), Files, contents)
}

// writeFiles adds files to a set: the first of the names is the data of a document, the second its page, and the others have
// the contents, or are removed without any.
func writeFiles(set *atomicfile.Set, dir string, d *report.Document, names []string, contents map[string][]byte) error {
	var text, page bytes.Buffer
	if err := format.WriteJSON(&text, d.Data); err != nil {
		return err
	}
	if err := render.HTML(&page, d); err != nil {
		return err
	}
	contents[names[0]], contents[names[1]] = text.Bytes(), page.Bytes()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if content, ok := contents[name]; !ok {
			set.Remove(path)
		} else if err := set.Write(path, content); err != nil {
			return err
		}
	}
	return nil
}

// changeFiles returns the contents of the files about the selected change; none without one.
func (a *Answer) changeFiles() (map[string][]byte, error) {
	contents := map[string][]byte{}
	if a.Selected == nil {
		return contents, nil
	}
	change, err := a.Manifest()
	if err != nil {
		return nil, err
	}
	before, err := a.objectsText(a.former(), false)
	if err != nil {
		return nil, err
	}
	contents[ChangeFile] = change
	contents[DiffFile] = diff.Diff("present.yaml", []byte(before), ChangeFile, change)
	undo, err := a.objectsText(a.safeUndo(), false)
	if err != nil {
		return nil, err
	}
	if undo != "" {
		contents[UndoFile] = []byte("# Undoes: " + a.Selected.Sentence + "\n" + undo)
	}
	return contents, nil
}

// undo returns the commands that undo the selected change.
func (a *Answer) undo() []string {
	c, commands := a.Selected, []string{}
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
	if changed {
		commands = append(commands, "kubectl apply -f "+UndoFile)
	}
	if len(c.objects.PriorityLevels) > 0 && a.keepsQueues() {
		commands = append(commands, "Leave the new number of queues, as "+UndoFile+" does: with fewer queues, a live level can lose requests. To have fewer, direct the FlowSchemas to another level.")
	}
	if len(added) > 0 {
		commands = append(commands, "kubectl delete "+strings.Join(added, " "))
	}
	if c.size != nil {
		return append(commands, "take back the size "+c.size.name+" for the former one")
	}
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.elsewhere() {
			commands = append(commands, ch.command(ch.From))
		}
	}
	return commands
}

// elsewhere says whether a change is of no object: of servers, or of clients.
func (ch *Change) elsewhere() bool { return ch.Kind == serverKind || ch.Kind == clientKind }

// command says with which flag servers are started, or how many there are, or what is set in a client.
func (ch *Change) command(value any) string {
	switch {
	case ch.Kind == clientKind:
		return fmt.Sprintf("in the client %s, set %s to %s", ch.Name, ch.Path[strings.LastIndex(ch.Path, ".")+1:], textOf(value))
	case ch.Path == serversPath:
		return fmt.Sprintf("kube-apiserver: %s servers", textOf(value))
	}
	return fmt.Sprintf("kube-apiserver --%s=%s", ch.Path, textOf(value))
}

// Manifest returns the objects of the selected change for kubectl apply, in a version that the release serves. Comments say
// how to undo it, what the servers have to be started with, and above each object why its fields are what they are.
func (a *Answer) Manifest() ([]byte, error) {
	c := a.Selected
	var head strings.Builder
	fmt.Fprintf(&head, "# %s\n", c.Sentence)
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.elsewhere() {
			fmt.Fprintf(&head, "# %s\n", ch.command(ch.To))
			comment(&head, ch.Because)
		}
	}
	for _, command := range a.Undo {
		fmt.Fprintf(&head, "# To undo it: %s\n", command)
	}
	text, err := a.objectsText(c.objects, true)
	if err != nil {
		return nil, err
	}
	objects := c.objects.Manifest(a.search.problem.rules).(map[string]any)["items"].([]any)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "- ") && len(objects) > 0 { // the next object begins
			a.explainObject(&head, objects[0].(map[string]any))
			objects = objects[1:]
		}
		head.WriteString(line)
	}
	return []byte(head.String()), nil
}

// explainObject writes comments with the reasons of the fields of an object that change.
func (a *Answer) explainObject(to *strings.Builder, object map[string]any) {
	name := object["metadata"].(map[string]any)["name"]
	for i := range a.Selected.Changes {
		ch := &a.Selected.Changes[i]
		if ch.Kind == object["kind"] && ch.Name == name && ch.Because != "" {
			value := " " + ch.values()
			if !ch.shown() {
				value = ""
			}
			comment(to, ch.field()+value+": "+ch.Because)
		}
	}
}

// commentWidth is how many characters a line of a comment has at most.
const commentWidth = 100

// comment writes a text as a comment of YAML.
func comment(to *strings.Builder, text string) {
	mark := "# "
	for _, line := range format.Wrap(text, commentWidth) {
		to.WriteString(mark + line + "\n")
		mark = "#   "
	}
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

// safeUndo returns the objects that undo the selected change: the former ones, with as many queues as they have by then.
func (a *Answer) safeUndo() config.Objects {
	undo := a.former()
	for i, l := range undo.PriorityLevels {
		if q := a.Selected.objects.PriorityLevel(l.Name).Spec.Queuing(); fewerQueues(q, l.Spec.Queuing()) {
			undo.PriorityLevels[i] = edited(l, func(s *config.LimitedSpec) { s.LimitResponse.Queuing.Queues = q.Queues })
		}
	}
	return undo
}

// keepsQueues says whether the undo leaves a level more queues than it had.
func (a *Answer) keepsQueues() bool {
	return slices.ContainsFunc(a.former().PriorityLevels, func(l *config.PriorityLevel) bool {
		return fewerQueues(a.Selected.objects.PriorityLevel(l.Name).Spec.Queuing(), l.Spec.Queuing())
	})
}

// fewerQueues says whether a level that queues has fewer queues than before.
func fewerQueues(before, after *config.Queuing) bool {
	return before != nil && after != nil && after.Queues < before.Queues
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
