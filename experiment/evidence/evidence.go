// Package evidence diagnoses a server by what it reports of itself, without its requests: metrics, dumps, objects and the logs of
// clients. [Recognize] says by its content what a file is, and [Diagnose] reads each file that is not the log of a server, and makes
// one [Diagnosis] of all of them.
//
// A kind of file joins in three steps: a constant Kind with a line in kinds that says what people call it, a rule in Recognize
// that no other kind meets, and a reader in readers. A reader adds what the file says to the evidence: a [Finding] for each symptom,
// with the figure that proves it and what would confirm it, rows of clients and FlowSchemas, and what it cannot say. It does not
// write sentences on the whole: the status is the worst one of the findings, and there is one document for all kinds.
//
// [Import] makes a scenario of metrics alone: load.go has what the series say, mixture.go how executions and seats become
// distributions, place.go the objects and who sends, import.go the scenario, and imported.go the runs beside the series.
package evidence

import (
	"apfsim/experiment/incident"
	"apfsim/reports/result"
)

// Finding is one thing that a file shows: a symptom, the cause that it proves, and what may help.
type Finding struct {
	Status  result.Status   // what it makes of the whole; OK for a finding that says only how something is
	Decided *result.Decided // the figure that Status follows from; nil if no figure decides
	Harmed  []result.Harmed // whose requests these are; each has the causes of this finding
	Cause   *result.Cause   // nil if the file shows no mechanism
	Try     []result.Remedy // what may help against the cause
	Doubt   bool            // the sentence of the cause is followed by what else fits, and what tells
	// Sentence is what happened, if the finding is the most important one. It ends without a full stop.
	Sentence string
}

// evidence is what the files read so far say.
type evidence struct {
	collected *collected         // the metrics of all files; nil without
	beginMs   int64              // File.BeginMs of the file that is read
	bundled   bool               // File.Bundled of it
	read      []*incident.Source // while its readers fill them in
	sources   []incident.Source
	findings  []Finding
	clients   []*incident.LoggedClient // whom a file names
	levels    []incident.LevelUse
	schemas   []incident.SchemaUse
	wanted    []incident.Wanted // what would tell more
	unknown   []string          // what the files cannot say, in sentences
	version   string            // of Kubernetes; "" if no file says it
	from      string            // where the version is from
	warnings  []string
	observed
}

// reader adds what a file says. The error continues a sentence that begins with the name of the file.
type reader func(e *evidence, s *incident.Source, text []byte) error

// readers are the readers of the kinds that have one.
var readers = map[incident.Kind]reader{
	incident.Metrics: (*evidence).readMetrics, incident.TSDBDump: (*evidence).readTSDB,
	incident.QueryRange: (*evidence).readQuery, incident.QueryInstant: (*evidence).readQuery,
	incident.DumpLevels: readDump, incident.DumpQueues: readDump, incident.DumpRequests: readDump,
	incident.ClientLog: readClient, incident.APIRequestCount: readRequestCounts, incident.Objects: (*evidence).readObjects,
	incident.Version: (*evidence).readVersion,
}
