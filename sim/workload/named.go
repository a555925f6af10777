package workload

import "apfsim/document"

// named decodes a value that is one of some names, or an object.
func named(d *document.Decoder, n *document.Node, path string, names []string, byName func(string), object func()) {
	want := ""
	for _, name := range names {
		want += name + ", "
	}
	switch {
	case n.Kind == document.Object:
		object()
		return
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want %sor an object", n.Kind, want)
		return
	}
	for _, name := range names {
		if n.Text == name {
			byName(name)
			return
		}
	}
	d.Fail(n, path, "%q: want %sor an object%s", document.Abridge(n.Text), want, document.Suggest(n.Text, names))
}
