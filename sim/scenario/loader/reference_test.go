package loader

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/sim/registry"
	"apfsim/sim/scenario"
)

// reference returns the text of the pages of the reference.
func reference(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("../../../docs/reference/*.md")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no pages: ", err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Every field that a scenario can have is named in the reference.
func TestReferenceHasEveryField(t *testing.T) {
	named := map[string]bool{}
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(reference(t), -1) {
		for _, word := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(span, -1) {
			named[word] = true
		}
	}
	seen := map[reflect.Type]bool{}
	fields := 0
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "apfsim/sim/") {
			return
		}
		seen[typ] = true
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				fields++
				if !named[name] {
					t.Errorf("docs/reference does not name %s, a field of %v", name, typ)
				}
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[scenario.Scenario]())
	if fields < 150 {
		t.Errorf("only %d fields were looked at", fields)
	}
}

// The table of the costs of a store has all of them, with their defaults.
func TestReferenceHasTheCosts(t *testing.T) {
	_, table, _ := strings.Cut(reference(t), "| Field of `costs` |")
	table, _, _ = strings.Cut(table, "\n\n")
	var defaults registry.Costs
	document.SetDefaults(&defaults)
	costs := reflect.ValueOf(defaults)
	for i := range costs.NumField() {
		name, _, _ := strings.Cut(costs.Type().Field(i).Tag.Get("json"), ",")
		_, row, found := strings.Cut(table, "\n| `"+name+"` | ")
		text, _, _ := strings.Cut(row, " |")
		if costs.Field(i).Kind() == reflect.Float64 { // a share
			if got, err := strconv.ParseFloat(text, 64); !found || err != nil || got != costs.Field(i).Float() {
				t.Errorf("the reference says %s of %s, whose default is %v", text, name, costs.Field(i))
			}
			continue
		}
		got, err := time.ParseDuration(text)
		if want := time.Duration(costs.Field(i).Int()); !found || err != nil || got != want {
			t.Errorf("the reference says %s of %s, whose default is %v", text, name, want)
		}
	}
}
