package result

// Replay compares the replay of a log with the log: the requests of traces with decided: Log, their first attempts.
// Requests are those of the priority level in the log, or in the replay if the log does not say it.
type Replay struct {
	// Matches says whether the replay agrees with its log. It is null in a what-if: where the configuration or the
	// workload is not that of the log, or the rules are those of no release, differences are what was asked for.
	Matches *bool `json:"matches"`

	Requests         int64 `json:"requests"` // whose outcome is in the log: they were executed or rejected
	RejectedInLog    int64 `json:"rejectedInLog"`
	RejectedInReplay int64 `json:"rejectedInReplay"`
	Pairs
	// OutcomeEqual is the share of Requests that were executed in both or rejected in both; null without requests.
	OutcomeEqual *float64 `json:"outcomeEqual"`

	SeatsFrom  string `json:"seatsFrom"`  // log; or estimate, where the log has none or is of a release that estimates differently
	RoutesFrom string `json:"routesFrom"` // log or configuration: FlowSchemas and priority levels

	Differences []ReplayDifference `json:"differences"` // all kinds, also those with 0 requests
	Levels      []ReplayedLevel    `json:"levels"`      // by name
	Unknown     []string           `json:"unknown"`     // what the logs do not say, as the scenario lists it
}

// Pairs compares outcomes request by request.
type Pairs struct {
	B int64   `json:"b"` // requests that the log rejected, and the replay did not
	C int64   `json:"c"` // requests that the replay rejected, and the log did not
	P float64 `json:"p"` // of McNemar's exact test: how probable it is that B and C are so unequal by chance
}

// ReplayDifference is how many requests differ from the log in something.
type ReplayDifference struct {
	What     string `json:"what"` // seats, flowSchema, priorityLevel; executions: those whose execution time is unknown
	Requests int64  `json:"requests"`
}

// ReplayedLevel compares the requests of a priority level. Waits are those of executed requests; they are null
// without any, as at an exempt level, and InLog also if the log has less than 90 % of them.
type ReplayedLevel struct {
	PriorityLevel    string `json:"priorityLevel"`
	Requests         int64  `json:"requests"`
	RejectedInLog    int64  `json:"rejectedInLog"`
	RejectedInReplay int64  `json:"rejectedInReplay"`
	Pairs
	WaitInLog    *Distribution `json:"waitInLog"`
	WaitInReplay *Distribution `json:"waitInReplay"`
	// WaitP is the p value of Wilcoxon's signed-rank test of the waits of requests that were executed in both; null without WaitInLog.
	WaitP *float64 `json:"waitP"`
	// SeatSeconds are what requests occupied that were executed in the log, and in the replay in both: seats times
	// execution, and final seats times additional latency.
	SeatSecondsInLog    float64 `json:"seatSecondsInLog"`
	SeatSecondsInReplay float64 `json:"seatSecondsInReplay"`
	// Disagrees are the figures that differ by more than chance and the errors of a log explain: rejected, wait, seatSeconds.
	Disagrees []string `json:"disagrees"`
}

// Values of SeatsFrom and RoutesFrom.
const (
	FromLog           = "log"
	FromEstimate      = "estimate"
	FromConfiguration = "configuration"
)

// Disagrees reports whether there is a log with which the replay does not agree.
func (r *Replay) Disagrees() bool { return r != nil && r.Matches != nil && !*r.Matches }

// DifferenceOf returns the number of requests that differ in something.
func (r *Replay) DifferenceOf(what string) int64 {
	for _, d := range r.Differences {
		if d.What == what {
			return d.Requests
		}
	}
	return 0
}
