package config_test

import (
	"reflect"
	"strings"
	"testing"
)

func TestErrorsInALevel(t *testing.T) {
	for spec, want := range map[string]string{
		`
  type: Limited
  limited:
    limitResponse:
      type: Queue
      queuing:
        queues: 8
        handSize: 9
`: "f:12:19: spec.limited.limitResponse.queuing.handSize: 9 exceeds queues (8)",
		`
  type: Limited
  limited:
    limitResponse: {type: Queue, queuing: {queues: 4}}
`: "f:8:43: spec.limited.limitResponse.queuing.handSize: the default 8 exceeds queues (4)",
		`
  type: Limited
  limited:
    limitResponse: {type: Queue, queuing: {queues: 1024, handSize: 7, queueLengthLimit: -1}}
`: `f:8:68: spec.limited.limitResponse.queuing.handSize: 7 out of 1024 queues needs 70 bits of a flow's hash; want at most 60
f:8:89: spec.limited.limitResponse.queuing.queueLengthLimit: -1 is not positive`,
		`
  type: Limited
  limited:
    limitResponse: {type: Queue, queuing: {queues: 10000001, handSize: 0}}
`: "f:8:52: spec.limited.limitResponse.queuing.queues: 10000001 is out of range; want 1 to 10000000",
		`
  type: Limited
  limited:
    limitResponse: {type: Queue, queuing: {queues: -1, handSize: -2}}
`: `f:8:52: spec.limited.limitResponse.queuing.queues: -1 is out of range; want 1 to 10000000
f:8:66: spec.limited.limitResponse.queuing.handSize: -2 is not positive`,
		`
  type: Limited
  limited:
    nominalConcurrencyShares: -1
    lendablePercent: 101
    borrowingLimitPercent: -1
    limitResponse: {type: Reject, queuing: {}}
`: `f:8:31: spec.limited.nominalConcurrencyShares: -1 is negative; want 0 or more
f:9:22: spec.limited.lendablePercent: 101 is out of range; want 0 to 100
f:10:28: spec.limited.borrowingLimitPercent: -1 is negative; want 0 or more, or leave it out for no limit
f:11:44: spec.limited.limitResponse.queuing: is not allowed for type Reject; remove it`,
		`
  type: Limited
  limited: {limitResponse: {type: Queue}}
`: "f:7:28: spec.limited.limitResponse.queuing: is missing from a response of type Queue",
		`
  type: Limited
  limited: {limitResponse: {type: queue, queuing: {}}}
`: `f:7:35: spec.limited.limitResponse.type: "queue" is not supported; use Queue or Reject (did you mean "Queue"?)`,
		`
  type: Limited
  exempt: {}
`: `f:6:3: spec.limited: is missing from a level of type Limited
f:7:11: spec.exempt: is not allowed for type Limited; remove it`,
		`
  type: Exempt
  limited: {limitResponse: {type: Reject}}
  exempt: {nominalConcurrencyShares: -1, lendablePercent: -1}
`: `f:6:9: spec.type: Exempt is reserved for the level named exempt
f:7:12: spec.limited: is not allowed for type Exempt; remove it
f:8:38: spec.exempt.nominalConcurrencyShares: -1 is negative; want 0 or more
f:8:59: spec.exempt.lendablePercent: -1 is out of range; want 0 to 100`,
		"  type: limited\n": `f:5:9: spec.type: "limited" is not supported; use Limited or Exempt (did you mean "Limited"?)`,
		"  null\n":          "f:1:1: spec: is missing",
		// A value that cannot be decoded has one error, and all other values are validated.
		`
  limited:
    nominalConcurrencyShares: many
    lendablePercnt: 3
    borrowingLimitPercent: -1
    limitResponse: {type: Queue, queuing: {handSize: 0.5, queues: 4}}
`: `f:6:3: spec.type: is missing
f:7:31: spec.limited.nominalConcurrencyShares: "many" is a string; want a number
f:8:5: spec.limited.lendablePercnt: unknown field (did you mean "lendablePercent"?)
f:10:54: spec.limited.limitResponse.queuing.handSize: 0.5 is not a whole number of 32 bits`,
	} {
		objects, errs := decode(level("v1", "batch", spec))
		if got := errs.Error(); got != want || len(objects.PriorityLevels) != 0 {
			t.Errorf("%s\ngot\n%s\nwant\n%s", spec, got, want)
		}
	}
}

func TestErrorsNameTheSharesAsTheVersionDoes(t *testing.T) {
	const response = "limitResponse: {type: Reject}"
	for _, c := range [][3]string{
		{"v1beta2", "assuredConcurrencyShares: -1", "assuredConcurrencyShares: -1 is negative; want 0 or more"},
		{"v1beta2", "nominalConcurrencyShares: 1", "nominalConcurrencyShares: is a field of v1, v1beta3; use assuredConcurrencyShares in v1beta2"},
		{"v1beta3", "assuredConcurrencyShares: 1", "assuredConcurrencyShares: is a field of v1beta2, v1beta1, v1alpha1; use nominalConcurrencyShares in v1beta3"},
		{"v1beta3", "nominalConcurrencyShares: -1", "nominalConcurrencyShares: -1 is negative; want 0 or more"},
	} {
		_, errs := decode(level(c[0], "a", "  type: Limited\n  limited:\n    "+c[1]+"\n    "+response+"\n"))
		if got := errs.Error(); !strings.HasSuffix(got, ": spec.limited."+c[2]) || len(errs) != 1 {
			t.Errorf("%s, %s: got %s\nwant %s", c[0], c[1], got, c[2])
		}
	}
}

func TestErrorsInAFlowSchema(t *testing.T) {
	for spec, want := range map[string]string{
		`
  priorityLevelConfiguration: {name: Batch}
  matchingPrecedence: 10001
  distinguisherMethod: {type: ByGroup}
`: `f:6:38: spec.priorityLevelConfiguration.name: "Batch" is not a valid name; want at most 253 lower-case letters, digits, hyphens and dots, where each part begins and ends with a letter or a digit
f:7:23: spec.matchingPrecedence: 10001 is out of range; want 1 to 10000
f:8:31: spec.distinguisherMethod.type: "ByGroup" is not supported; use ByUser or ByNamespace`,
		`
  priorityLevelConfiguration: {name: a}
  matchingPrecedence: 1
  rules: [{}]
`: `f:7:23: spec.matchingPrecedence: 1 is reserved for the FlowSchema exempt
f:8:11: spec.rules[0].subjects: is empty; want at least one
f:8:11: spec.rules[0]: has neither resourceRules nor nonResourceRules; want at least one of them`,
		`
  priorityLevelConfiguration: {name: a}
  matchingPrecedence: -1
  rules:
  - subjects:
    - kind: Users
    - {kind: User, group: {name: a}}
    - {kind: Group, group: {name: ""}}
    - {kind: User, user: {name: ""}}
    - {kind: ServiceAccount, serviceAccount: {namespace: "*", name: A}}
    - {kind: Group, group: {nmae: x}}
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
`: `f:7:23: spec.matchingPrecedence: -1 is out of range; want 1 to 10000
f:10:13: spec.rules[0].subjects[0].kind: "Users" is not supported; use User, Group or ServiceAccount (did you mean "User"?)
f:11:7: spec.rules[0].subjects[1].user: is missing from a subject of kind User
f:11:27: spec.rules[0].subjects[1].group: is not allowed for kind User; remove it
f:12:35: spec.rules[0].subjects[2].group.name: is empty; want a group or "*"
f:13:33: spec.rules[0].subjects[3].user.name: is empty; want a user or "*"
f:14:58: spec.rules[0].subjects[4].serviceAccount.namespace: "*" is not a valid namespace; want at most 63 lower-case letters, digits and hyphens, where the first and the last character are a letter or a digit
f:14:69: spec.rules[0].subjects[4].serviceAccount.name: "A" is not a valid name; want at most 253 lower-case letters, digits, hyphens and dots, where each part begins and ends with a letter or a digit
f:15:28: spec.rules[0].subjects[5].group.name: is missing
f:15:29: spec.rules[0].subjects[5].group.nmae: unknown field (did you mean "name"?)`,
		`
  priorityLevelConfiguration: {name: a}
  rules:
  - subjects: [{kind: Group, group: {name: a}}]
    resourceRules:
    - {verbs: [get, lsit], apiGroups: ["*", apps], resources: []}
    - {apiGroups: [""], resources: ["*"], verbs: ["*", get], clusterScope: true, namespaces: [Kube]}
    - {apiGroups: [""], resources: ["*"], verbs: ["*"], namespaces: ["*", a]}
`: `f:10:7: spec.rules[0].resourceRules[0].namespaces: is empty; want at least one, or clusterScope: true
f:10:21: spec.rules[0].resourceRules[0].verbs[1]: "lsit" is not supported; use get, list, create, update, delete, deletecollection, patch, watch or proxy (did you mean "list"?)
f:10:39: spec.rules[0].resourceRules[0].apiGroups: has "*" and other items; use "*" alone, which matches everything
f:10:63: spec.rules[0].resourceRules[0].resources: is empty; want at least one, or "*"
f:11:50: spec.rules[0].resourceRules[1].verbs: has "*" and other items; use "*" alone, which matches everything
f:11:95: spec.rules[0].resourceRules[1].namespaces[0]: "Kube" is not a valid namespace; want at most 63 lower-case letters, digits and hyphens, where the first and the last character are a letter or a digit
f:12:69: spec.rules[0].resourceRules[2].namespaces: has "*" and other items; use "*" alone, which matches everything`,
		`
  priorityLevelConfiguration: {name: a}
  rules:
  - subjects: [{kind: Group, group: {name: a}}]
    nonResourceRules:
    - verbs: [get]
      nonResourceURLs: [/, /healthz/*, healthz, "/a b", /a//b, "/a*", "/*/b", ""]
`: `f:11:40: spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: "healthz" does not begin with a slash
f:11:49: spec.rules[0].nonResourceRules[0].nonResourceURLs[3]: "/a b" contains a space
f:11:57: spec.rules[0].nonResourceRules[0].nonResourceURLs[4]: "/a//b" contains a double slash
f:11:64: spec.rules[0].nonResourceRules[0].nonResourceURLs[5]: "/a*" has a wildcard that is not the last step; use a path such as /healthz/*
f:11:71: spec.rules[0].nonResourceRules[0].nonResourceURLs[6]: "/*/b" has a wildcard that is not the last step; use a path such as /healthz/*
f:11:79: spec.rules[0].nonResourceRules[0].nonResourceURLs[7]: "" does not begin with a slash`,
	} {
		objects, errs := decode(flowSchema("batch", spec))
		if got := errs.Error(); got != want || len(objects.FlowSchemas) != 0 {
			t.Errorf("%s\ngot\n%s\nwant\n%s", spec, got, want)
		}
	}
}

// Some charts give these objects a namespace; a server clears it.
func TestNamespaceIsIgnored(t *testing.T) {
	text := strings.Replace(flowSchema("a", "  priorityLevelConfiguration: {name: a}\n"), "{name: a}", "{name: a, namespace: b}", 1)
	plain, _ := decode(flowSchema("a", "  priorityLevelConfiguration: {name: a}\n"))
	objects, errs := decode(text)
	if len(errs) > 0 || len(objects.FlowSchemas) != 1 || len(plain.FlowSchemas) != 1 {
		t.Fatalf("got %d FlowSchemas and errors %v, want one and none", len(objects.FlowSchemas), errs)
	}
	if got, want := objects.FlowSchemas[0], plain.FlowSchemas[0]; got.Name != want.Name || !reflect.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("got %s with %+v, want %s with %+v, as without the namespace", got.Name, got.Spec, want.Name, want.Spec)
	}
}

func TestErrorsInTheMetadata(t *testing.T) {
	for metadata, want := range map[string]string{
		"{}":                    "f:3:11: metadata.name: is missing",
		"null":                  "f:1:1: metadata: is missing",
		"{name: 7}":             "f:3:18: metadata.name: 7 is a number; want a string: put it in quotes",
		"{name: a_b}":           `f:3:18: metadata.name: "a_b" is not a valid name; want at most 253`,
		"{name: ''}":            `f:3:18: metadata.name: "" is not a valid name; want at most 253`,
		"{name: a..b}":          `f:3:18: metadata.name: "a..b" is not a valid name; want at most 253`,
		"{name: a, lables: {}}": `f:3:21: metadata.lables: unknown field (did you mean "labels"?)`,
		"{name: " + strings.Repeat("a", 254) + "}": `f:3:18: metadata.name: "aaa`,
	} {
		text := strings.Replace(flowSchema("a", "  priorityLevelConfiguration: {name: a}\n"), "{name: a}", metadata, 1)
		_, errs := decode(text)
		if got := errs.Error(); len(errs) != 1 || !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", metadata, got, want)
		}
	}
}

func TestMandatorySpecsAreFixed(t *testing.T) {
	for text, want := range map[string]string{
		level("v1", "exempt", "  type: Exempt\n  exempt: {nominalConcurrencyShares: 7, lendablePercent: 50}\n"):                                          "",
		level("v1beta2", "exempt", "  type: Exempt\n"):                                                                                                   "",
		level("v1", "exempt", "  type: Limited\n  limited: {limitResponse: {type: Reject}}\n"):                                                           "f:5:9: spec.type: the level named exempt must be of type Exempt",
		level("v1", "catch-all", "  type: Limited\n  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}\n"):                           "",
		level("v1", "catch-all", "  type: Limited\n  limited: {nominalConcurrencyShares: 9, limitResponse: {type: Reject}}\n"):                           "f:6:39: spec.limited.nominalConcurrencyShares: is 9; the spec of the mandatory PriorityLevelConfiguration catch-all is fixed; want 5",
		level("v1", "catch-all", "  type: Limited\n  limited: {nominalConcurrencyShares: 5, borrowingLimitPercent: 0, limitResponse: {type: Reject}}\n"): "f:6:65: spec.limited.borrowingLimitPercent: is 0; the spec of the mandatory PriorityLevelConfiguration catch-all is fixed; want it removed",
		flowSchema("catch-all", "  matchingPrecedence: 10000\n  priorityLevelConfiguration: {name: catch-all}\n  distinguisherMethod: {type: ByUser}\n"): "f:5:3: spec.rules: is absent; the spec of the mandatory FlowSchema catch-all is fixed; want [",
		flowSchema("exempt", "  matchingPrecedence: 1\n  priorityLevelConfiguration: {name: exempt}\n  distinguisherMethod: {type: ByUser}\n"):           `f:7:24: spec.distinguisherMethod: is {"type":"ByUser"}; the spec of the mandatory FlowSchema exempt is fixed; want it removed`,
	} {
		_, errs := decode(text)
		if got := errs.Error(); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// A text with an error in every line is refused, with many errors and no object.
func TestVeryManyErrors(t *testing.T) {
	for name, rules := range map[string]string{
		"invalid kinds only":     strings.Repeat("  - {subjects: [{kind: X}]}\n", 20_000),
		"unknown fields as well": strings.Repeat("  - {subjects: [{kind: X, y: 1}]}\n", 20_000),
	} {
		objects, errs := decode(flowSchema("a", "  priorityLevelConfiguration: {name: b}\n  rules:\n"+rules))
		if len(errs) < 1000 || len(objects.FlowSchemas) != 0 {
			t.Errorf("%s: %d errors, %d objects", name, len(errs), len(objects.FlowSchemas))
		}
	}
}
