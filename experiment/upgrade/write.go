package upgrade

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/document/yaml"
	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/render"
)

// Names of the files of an answer.
const (
	AnswerFile  = "upgrade.json"
	PageFile    = "upgrade.html"
	ObjectsFile = "objects.yaml"
)

// Files are the names of all of them.
var Files = []string{AnswerFile, PageFile, ObjectsFile}

// Write adds the files of an answer to a set. ObjectsFile has the objects whose API versions are no longer served, for
// kubectl apply; one that an earlier answer has left is removed if there are none.
func (a *Answer) Write(set *atomicfile.Set, dir string) error {
	var list files.List
	list.Add(AnswerFile, func(w io.Writer) error { return format.WriteJSON(w, a) })
	list.Add(PageFile, func(w io.Writer) error { return render.HTML(w, a.Document()) })
	text, err := a.manifest()
	if err != nil {
		return err
	}
	if text == nil {
		set.Remove(filepath.Join(dir, ObjectsFile))
	} else {
		list.Add(ObjectsFile, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	return list.AddTo(set, dir)
}

// manifest returns the objects of the files whose API versions the new release does not serve, in a version that it
// serves; nil without any. They keep the annotation by which servers leave them as they are.
func (a *Answer) manifest() ([]byte, error) {
	stale := func(o *config.Origin) bool {
		return o != nil && !slices.Contains(config.ServedVersions(a.options.To), o.APIVersion)
	}
	var objects config.Objects
	annotations := map[[2]string]string{}
	keep := func(kind, name string, o *config.Origin) {
		if value, ok := o.Annotations[config.AutoupdateAnnotation]; ok {
			annotations[[2]string{kind, name}] = value
		}
	}
	for _, s := range a.options.Objects.FlowSchemas {
		if stale(s.Origin) {
			objects.FlowSchemas = append(objects.FlowSchemas, s)
			keep("FlowSchema", s.Name, s.Origin)
		}
	}
	for _, l := range a.options.Objects.PriorityLevels {
		if stale(l.Origin) {
			objects.PriorityLevels = append(objects.PriorityLevels, l)
			keep("PriorityLevelConfiguration", l.Name, l.Origin)
		}
	}
	if len(objects.FlowSchemas)+len(objects.PriorityLevels) == 0 {
		return nil, nil
	}
	list := objects.Manifest(a.options.To).(map[string]any)
	for _, item := range list["items"].([]any) {
		object := item.(map[string]any)
		metadata := object["metadata"].(map[string]any)
		kind, _ := object["kind"].(string)
		name, _ := metadata["name"].(string)
		if value, ok := annotations[[2]string{kind, name}]; ok {
			metadata["annotations"] = map[string]any{config.AutoupdateAnnotation: value}
		}
	}
	var text strings.Builder
	text.WriteString("# Objects of the files, in the version " + config.ServedVersions(a.options.To)[0] + " that Kubernetes " + a.To + " serves.\n")
	body, err := yaml.Marshal(list)
	text.Write(body)
	return []byte(text.String()), err
}
