package registry

import (
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Costs are the processor time that a server needs to serve requests, each alone on an idle server and without etcd,
// and the additional latency of etcd for large reads. The defaults are orders of magnitude, from measurements that
// Kubernetes has published (docs/reference/scenario.md); those without a source are assumptions.
type Costs struct {
	// Request is that of any request: TLS, authentication, authorization, audit, decoding. An assumption:
	// 23 800 writes a second of a server with 16 cores (kubernetes/kubernetes PR 139440) are 670 µs·core each,
	// of which the watchers and garbage collection take a part.
	Request quantity.Duration `json:"request,omitempty" jsonschema:"default=200µs,exclusiveMinimum=0s" message:"want {want}, as a client that waits for nothing else would send without end at one time" jsonschema_description:"Each request."`

	// WalkedObject is that of an object of a cached list that is looked at, whether it is returned or not: the tree
	// is flattened (PR 140896: pages of 500 of 1 000 000 pods, 60/s, take 20.2 cores).
	WalkedObject quantity.Duration `json:"walkedObject,omitempty" jsonschema:"default=300ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object that a list from a cache walks, and a page walks all that follow."`
	// MatchedObject is that of a selector for an object, in addition (KEP-2340: one list a second of 300 000 objects
	// that matches none takes 0.63 cores).
	MatchedObject quantity.Duration `json:"matchedObject,omitempty" jsonschema:"default=1700ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object that is compared with selectors, besides."`
	// EncodedKilobyte is that of writing JSON (PR 141586, 141809: 1000 pods, 14.4 MB, take 60 to 72 ms).
	EncodedKilobyte quantity.Duration `json:"encodedKilobyte,omitempty" jsonschema:"default=4500ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each 1000 bytes of an answer."`
	// ProtobufKilobyte is that of writing protobuf instead, for clients that ask for it (the same: the same 1000 pods take
	// 17 to 43 ms, 30 on average). The bytes are those of the objects, as for JSON, and not the fewer ones that are written.
	ProtobufKilobyte quantity.Duration `json:"protobufKilobyte,omitempty" jsonschema:"default=2100ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each 1000 bytes of an answer that its client wants in protobuf, instead; custom resources are always JSON."`
	// CompressedKilobyte is that of gzip at level 1 (PR 134155: 2.63 MB take 11.7 ms), for answers of more than
	// compressFrom bytes, and for the events of some watches (rules.Server.CompressedWatches); 0: no client accepts it.
	CompressedKilobyte quantity.Duration `json:"compressedKilobyte,omitempty" jsonschema:"default=4400ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each 1000 bytes of an answer of more than 128 KiB, and of a watch with initial events and bookmarks since 1.37, which are compressed."`

	// EtcdObject and EtcdKilobyte are those of an object that is received from etcd and decoded (KEP-2340:
	// 300 000 objects of 1 kB a second take 6.9 cores, 23 µs each; 300 of 1 MB 3.1 cores, 10 ms each).
	EtcdObject   quantity.Duration `json:"etcdObject,omitempty" jsonschema:"default=13µs,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object that is read from etcd, of any size."`
	EtcdKilobyte quantity.Duration `json:"etcdKilobyte,omitempty" jsonschema:"default=10µs,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each 1000 bytes that are read from etcd, besides."`
	// EtcdBackground is the share of these two that other goroutines than that of the request work for, at the same time: garbage
	// collection and receiving. lab/list-costs.md has a measurement.
	EtcdBackground float64 `json:"etcdBackground,omitempty" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of etcdObject and etcdKilobyte of a list that the processor works for on other cores while the list goes on, as garbage collection does; without it none."`
	// RangedObject is how much longer etcd takes for each object of a range (the same: 3.6 cores of etcd, 12 µs
	// each). It is a delay and no work of the server.
	RangedObject quantity.Duration `json:"rangedObject,omitempty" jsonschema:"default=12µs,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object of a range: how much longer etcd takes; no processor time of the server."`

	// InitialEvent is that of an initial event that is sent (PR 138307: 260 000 to 318 000 objects a second), and
	// InitialWalk that of an object that is looked at and not sent (the same: 9.8 filtered calls a second
	// over 150 000 pods).
	InitialEvent quantity.Duration `json:"initialEvent,omitempty" jsonschema:"default=3500ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object that a watch sends at its beginning."`
	InitialWalk  quantity.Duration `json:"initialWalk,omitempty" jsonschema:"default=700ns,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each object that a watch walks at its beginning and does not send."`

	// WatchEvent is that of an event that is sent to a watcher (PR 120300: 10.6 µs with an encoding that all
	// share), and EventLatency is how long it takes to the client, which is no work.
	WatchEvent   quantity.Duration `json:"watchEvent,omitempty" jsonschema:"default=10µs,maximum=1s" message:"{value}: want {want}, as it is multiplied by numbers of objects, bytes and watches" jsonschema_description:"Each event that is sent to a watch."`
	EventLatency quantity.Duration `json:"eventLatency,omitempty" jsonschema:"default=2ms" jsonschema_description:"From a commit in etcd until the watch caches have the event; no processor time."`
}

const (
	// roundNs is the cost of one transaction: admission, validation and encoding are repeated in each. It is an
	// assumption.
	roundNs = 50_000
	// compressFrom is the size above which answers are compressed (pkg/endpoints/handlers/responsewriters).
	compressFrom = 128 << 10
	// countedShare is the cost of counting an object of a cache, as a share of that of walking it: a page of 500 of 100 000
	// takes 41 ms where all that follow are counted, and 97 ms where they are walked. The ratio is measured.
	countedShare = 41.0 / 97
)

// UnmarshalDocument implements document.Unmarshaler.
func (c *Costs) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	document.SetDefaults(c)
	switch {
	case n.Kind == document.Object:
		type plain Costs
		d.Decode(n, path, (*plain)(c))
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want Default or an object", n.Kind)
	case n.Text != "Default":
		d.Fail(n, path, "%q: want Default or an object%s", document.Abridge(n.Text), document.Suggest(n.Text, []string{"Default"}))
	}
}

// Accept is what the client of a request accepts (the headers Accept and Accept-Encoding).
type Accept struct {
	Protobuf     bool // and JSON where there is no protobuf; otherwise JSON alone
	Uncompressed bool // no gzip
}

// encode returns the cost of encoding an answer of so many bytes, in nanoseconds.
func (op *Operation) encode(bytes int64) int64 {
	perKilobyte := op.encodedKilobyte()
	if bytes > compressFrom && !op.Accept.Uncompressed {
		perKilobyte += op.registry.costs.CompressedKilobyte
	}
	return bytes * int64(perKilobyte) / 1000
}

// encodedKilobyte is the cost of encoding 1000 bytes. A custom resource has no protobuf.
func (op *Operation) encodedKilobyte() quantity.Duration {
	if op.Accept.Protobuf && !op.resource.Custom {
		return op.registry.costs.ProtobufKilobyte
	}
	return op.registry.costs.EncodedKilobyte
}

// fetch returns the cost of receiving objects with so many bytes in total from etcd, in nanoseconds.
func (c *Costs) fetch(objects, bytes int64) int64 {
	return objects*int64(c.EtcdObject) + bytes*int64(c.EtcdKilobyte)/1000
}

// walk returns the cost of visiting objects of a cache, with or without a selector, in nanoseconds.
func (c *Costs) walk(objects int64, selects bool) int64 {
	if selects {
		return objects * int64(c.WalkedObject+c.MatchedObject)
	}
	return objects * int64(c.WalkedObject)
}
