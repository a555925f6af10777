package old

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// trialInput is a line of the input, as far as the releases need it: package trial of the
// conformance module defines it. Times are in nanoseconds since the start.
type trialInput struct {
	Name                        string
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	RequestTimeoutNs            int64
	Objects                     objects
	Requests                    []record
	HangUps                     []struct{ ID, AfterNs int64 }
	Changes                     []struct {
		AtNs    int64
		Objects objects
	}
}

// record is a request.
type record struct {
	ID          int64    `json:"id"`
	ArrivalNs   int64    `json:"arrivalNs"`
	User        string   `json:"user"`
	Groups      []string `json:"groups"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Query       string   `json:"query"`
	ExecutionNs int64    `json:"executionNs"`
	WatchNs     int64    `json:"watchNs"`
}

// path returns the path of the request; that of its resource, in version v1 of its API group, if
// it has none of its own.
func (r *record) path() string {
	if r.Path != "" {
		return r.Path
	}
	path := "/api/v1"
	if r.APIGroup != "" {
		path = "/apis/" + r.APIGroup + "/v1"
	}
	if r.Namespace != "" && !(r.APIGroup == "" && r.Resource == "namespaces") {
		path += "/namespaces/" + r.Namespace
	}
	for _, part := range []string{r.Resource, r.Name, r.Subresource} {
		if part != "" {
			path += "/" + part
		}
	}
	return path
}

// result is a line of the output. The releases give no snapshots.
type result struct {
	Decisions  []decision
	Rejections map[string]int
}

// decision is what became of a request.
type decision struct {
	FlowSchema        string // "" for a request that bypasses flow control
	PriorityLevel     string
	Rejected          bool
	DispatchNs        int64 // -1 for a rejected request
	EndNs             int64
	Seats             int // 1, but 0 for requests that flow control does not limit
	RetryAfterSeconds int // 0 if the request left its queue at its deadline
}

// objects are flow-control objects in the API version of the release.
type objects struct {
	schemas []*flowSchema
	levels  []*priorityLevel
}

// UnmarshalJSON reads a List of v1.
func (o *objects) UnmarshalJSON(text []byte) error {
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, item := range list.Items {
		var err error
		switch name := item.Metadata.Name; item.Kind {
		case "FlowSchema":
			s := newFlowSchema(name)
			err = strictly(item.Spec, &s.Spec)
			o.schemas = append(o.schemas, s)
		case "PriorityLevelConfiguration":
			l := newPriorityLevel(name)
			var spec json.RawMessage
			if spec, err = withoutLending(item.Spec); err == nil {
				err = strictly(spec, &l.Spec)
			}
			o.levels = append(o.levels, l)
		default:
			err = fmt.Errorf("unknown kind %q", item.Kind)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", item.Metadata.Name, err)
		}
	}
	return nil
}

// withoutLending converts the spec of a level from v1: the shares had another name, and there was
// neither lending nor a configuration of the exempt level. Shares of 0, which only v1 has, stay 0.
func withoutLending(v1 json.RawMessage) (json.RawMessage, error) {
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(v1, &spec); err != nil {
		return nil, err
	}
	delete(spec, "exempt")
	if spec["limited"] != nil {
		var limited map[string]json.RawMessage
		if err := json.Unmarshal(spec["limited"], &limited); err != nil {
			return nil, err
		}
		if shares := limited["nominalConcurrencyShares"]; shares != nil {
			limited["assuredConcurrencyShares"] = shares
		}
		for _, field := range []string{"nominalConcurrencyShares", "lendablePercent", "borrowingLimitPercent"} {
			delete(limited, field)
		}
		text, err := json.Marshal(limited)
		if err != nil {
			return nil, err
		}
		spec["limited"] = text
	}
	return json.Marshal(spec)
}

// strictly decodes JSON that has no fields other than those of the value.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (o *objects) schema(name string) *flowSchema {
	for _, s := range o.schemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (o *objects) level(name string) *priorityLevel {
	for _, l := range o.levels {
		if l.Name == name {
			return l
		}
	}
	return nil
}
