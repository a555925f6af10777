package result

import (
	"reflect"
	"strings"

	"apfsim/sim/metric"
)

// sources are the types that statistics are read from.
var sources = map[metric.Source]reflect.Type{
	metric.FromRequests: reflect.TypeFor[Group](), metric.FromGroup: reflect.TypeFor[Group](), metric.FromFlows: reflect.TypeFor[Flow](),
	metric.FromLevel: reflect.TypeFor[Level](), metric.FromServer: reflect.TypeFor[Server](), metric.FromClients: reflect.TypeFor[Noted](),
}

// sum is the sum of numbers of a summary, as metric.Statistic.Field has it.
type sum []term

// term is one number of a sum: a field of a field and so on, each as reflect.StructField.Index has it.
type term struct {
	sign   float64
	fields [][]int
}

// parseSum parses the names of fields of a type. It panics if there is no such field.
func (c fieldCache) parseSum(from reflect.Type, text string) (all sum) {
	sign := 1.0
	for _, word := range strings.Fields(text) {
		switch word {
		case "+":
			sign = 1
		case "-":
			sign = -1
		default:
			all = append(all, term{sign, c.fieldsNamed(from, word)})
		}
	}
	return all
}

// fieldCache has the fields of types by their names in JSON.
type fieldCache map[reflect.Type]map[string]reflect.StructField

// fieldsOf returns the fields of a type.
func (c fieldCache) fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if c[t] == nil {
		c[t] = map[string]reflect.StructField{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, ok := c[t][name]; !ok {
				c[t][name] = f
			}
		}
	}
	return c[t]
}

// fieldsNamed returns the fields of a type that a path of their names in JSON names.
func (c fieldCache) fieldsNamed(from reflect.Type, path string) (fields [][]int) {
	for _, name := range strings.Split(path, ".") {
		if from.Kind() == reflect.Pointer {
			from = from.Elem()
		}
		field, ok := c.fieldsOf(from)[name]
		if !ok {
			panic("result: " + from.String() + " has no field " + name + " of " + path)
		}
		fields, from = append(fields, field.Index), field.Type
	}
	return fields
}

// read returns the sum. It is not ok if a pointer on the way is nil; absent says that the first one is.
func (s sum) read(from reflect.Value) (value float64, ok, absent bool) {
	for _, t := range s {
		v := from
		for i, index := range t.fields {
			if v.Kind() == reflect.Pointer {
				if v.IsNil() {
					return 0, false, i <= 1
				}
				v = v.Elem()
			}
			v = v.FieldByIndex(index)
		}
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return 0, false, len(t.fields) == 1
			}
			v = v.Elem()
		}
		if v.CanInt() {
			value += t.sign * float64(v.Int())
		} else {
			value += t.sign * v.Float()
		}
	}
	return value, true, false
}
