package registry

// Costs is what the parts of requests cost a server's CPU, alone on an idle server, and how much later etcd
// answers when it has much to read. Those that have no source are assumptions.
type Costs struct {
	// RequestNs is that of any request: TLS, authentication, authorization, audit, decoding. An assumption:
	// 23 800 writes a second of a server with 16 cores (kubernetes/kubernetes PR 139440) are 670 µs·core each,
	// of which the watchers and garbage collection take a part.
	RequestNs int64 `json:"requestNs"`
	// RoundNs is that of a transaction: admission, validation and encoding are repeated in each. An assumption.
	RoundNs int64 `json:"roundNs"`

	// WalkNs is that of an object of a cached list that is looked at, whether it is returned or not: the tree
	// is flattened (PR 140896: pages of 500 of 1 000 000 pods, 60/s, take 20.2 cores).
	WalkNs int64 `json:"walkNs"`
	// MatchNs is that of a selector for an object, in addition (KEP-2340: one list a second of 300 000 objects
	// that matches none takes 0.63 cores).
	MatchNs int64 `json:"matchNs"`
	// EncodePsPerByte is that of writing JSON, in picoseconds (PR 141586, 141809: 1000 pods, 14.4 MB, take
	// 60 to 72 ms).
	EncodePsPerByte int64 `json:"encodePsPerByte"`
	// CompressPsPerByte is that of gzip at level 1, in picoseconds (PR 134155: 2.63 MB take 11.7 ms), for
	// answers of more than CompressFrom bytes (pkg/endpoints/handlers/responsewriters); 0: no client accepts it.
	CompressPsPerByte int64 `json:"compressPsPerByte"`
	CompressFrom      int64 `json:"compressFrom"`

	// FetchNs and FetchPsPerByte are those of an object that is received from etcd and decoded (KEP-2340:
	// 300 000 objects of 1 kB a second take 6.9 cores, 23 µs each; 300 of 1 MB 3.1 cores, 10 ms each).
	FetchNs        int64 `json:"fetchNs"`
	FetchPsPerByte int64 `json:"fetchPsPerByte"`
	// RangeNs is how much longer etcd takes for each object of a range (the same: 3.6 cores of etcd, 12 µs
	// each). It is a delay and no work of the server.
	RangeNs int64 `json:"rangeNs"`

	// InitialNs is that of an initial event that is sent (PR 138307: 260 000 to 318 000 objects a second), and
	// InitialWalkNs that of an object that is looked at and not sent (the same: 9.8 filtered calls a second
	// over 150 000 pods).
	InitialNs     int64 `json:"initialNs"`
	InitialWalkNs int64 `json:"initialWalkNs"`

	// EventNs is that of an event that is sent to a watcher (PR 120300: 10.6 µs with an encoding that all
	// share), and EventLatencyNs is how long it takes to the client, which is no work.
	EventNs        int64 `json:"eventNs"`
	EventLatencyNs int64 `json:"eventLatencyNs"`
}

// DefaultCosts are the costs of a server on common hardware.
func DefaultCosts() Costs {
	return Costs{
		RequestNs: 200_000, RoundNs: 50_000,
		WalkNs: 300, MatchNs: 1_700,
		EncodePsPerByte: 4_500, CompressPsPerByte: 4_400, CompressFrom: 128 << 10,
		FetchNs: 13_000, FetchPsPerByte: 10_000, RangeNs: 12_000,
		InitialNs: 3_500, InitialWalkNs: 700,
		EventNs: 10_000, EventLatencyNs: 2_000_000,
	}
}

// encode returns what an answer of so many bytes costs.
func (c *Costs) encode(bytes int64) int64 {
	ps := c.EncodePsPerByte
	if bytes > c.CompressFrom {
		ps += c.CompressPsPerByte
	}
	return bytes * ps / 1000
}

// fetch returns what it costs to receive objects from etcd, together of so many bytes.
func (c *Costs) fetch(objects, bytes int64) int64 {
	return objects*c.FetchNs + bytes*c.FetchPsPerByte/1000
}

// walk returns what it costs to look at objects of a cache, with a selector or without.
func (c *Costs) walk(objects int64, selects bool) int64 {
	if selects {
		return objects * (c.WalkNs + c.MatchNs)
	}
	return objects * c.WalkNs
}
