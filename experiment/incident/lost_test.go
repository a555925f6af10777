package incident

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

// diagnosed diagnoses the entries of a log of one server.
func diagnosed(t *testing.T, version string, entries ...serverlog.Entry) *Diagnosis {
	t.Helper()
	settings, err := ReadSettings(nil, version, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(t.Context(), Options{Sources: []requests.Source{file("a.log", entries...)}, Settings: settings}, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// kindsOf returns the kinds of the causes of a diagnosis.
func kindsOf(d *Diagnosis) (all []result.Kind) {
	for _, c := range d.Verdict.Causes {
		all = append(all, c.Kind)
	}
	return all
}

// Annotations of the audit log say that requests took two seconds in a webhook, or in etcd: nobody waited, which is no harm,
// but a warning with its cause.
func TestDiagnoseNamesWhatTheAuditLogAnnotates(t *testing.T) {
	for kind, lost := range map[result.Kind]func(*serverlog.Entry){
		result.ByWebhook: func(e *serverlog.Entry) { e.WebhookNs, e.EtcdNs = 1900*ms, 50*ms },
		result.ByEtcd:    func(e *serverlog.Entry) { e.WebhookNs, e.EtcdNs = 0, 1900*ms },
	} {
		var entries []serverlog.Entry
		for i := range int64(200) {
			entries = append(entries, completed(fmt.Sprint(i), i*100*ms, i*100*ms+2000*ms, func(e *serverlog.Entry) {
				e.TotalNs, e.WaitNs = 2000*ms, 0
				lost(e)
			}))
		}
		d := diagnosed(t, "1.36", entries...)
		if got := kindsOf(d); d.Verdict.Status != result.Warning || len(got) == 0 || got[0] != kind || len(d.Remedies) > 0 || d.Slow.Requests != 200 ||
			!strings.Contains(d.Verdict.Causes[0].Sentence, "95 % of their time") {
			t.Errorf("%s: %s, causes %+v, slow %+v", kind, d.Verdict.Status, d.Verdict.Causes, d.Slow)
		}
	}
}

// A log whose requests are received and completed at the same time, or in whole seconds, says nothing about waits. Rejections
// are a fact in it all the same.
func TestDiagnoseOfALogWithoutExecutions(t *testing.T) {
	for _, c := range []struct {
		what, why string
		endNs     func(arrivalNs int64) (int64, int64)
	}{
		{"the same time", "received and completed at the same time", func(ns int64) (int64, int64) { return ns, ns }},
		{"whole seconds", "whole seconds", func(ns int64) (int64, int64) { return ns / second * second, (ns + 600*ms) / second * second }},
	} {
		for _, rejections := range []int{0, 20} {
			var entries []serverlog.Entry
			for i := range int64(200) {
				from, to := c.endNs(i * 100 * ms)
				entries = append(entries, completed(fmt.Sprint(i), from, to, func(e *serverlog.Entry) {
					if int(i) >= 200-rejections {
						rejected(e)
					}
				}))
			}
			d := diagnosed(t, "1.36", entries...)
			want := map[bool]result.Status{true: result.Unknown, false: result.Harm}[rejections == 0]
			if d.Verdict.Status != want || d.ReplayTrusted || len(d.Remedies) > 0 || !strings.Contains(d.replayText(), c.why) {
				t.Errorf("%s, %d rejected: %s: %s\n%s", c.what, rejections, d.Verdict.Status, d.Verdict.Sentence, d.replayText())
			}
		}
	}
}

// From 10 s to 20 s, requests execute for five times as long, and every second one is rejected: what is sent is the same, so
// that the slowdown is the cause and not the demand. If five times as many are sent, demand is.
func TestDiagnoseNamesASlowdown(t *testing.T) {
	for _, slow := range []bool{true, false} {
		var entries []serverlog.Entry
		for i := int64(0); i < 30_000; i += 50 {
			inside := i >= 10_000 && i < 20_000
			executionNs, times := 100*ms+i%7*ms, int64(1)
			if inside && slow {
				executionNs *= 5
			} else if inside {
				times = 5
			}
			for k := range times {
				id, at := fmt.Sprint(i, "-", k), i*ms+k*ms
				change := executed(executionNs)
				endNs := at + executionNs
				if inside && i%100 == 0 {
					change, endNs = func(e *serverlog.Entry) {
						rejected(e)
						e.FlowSchema, e.PriorityLevel = "global-default", "global-default"
					}, at
				}
				entries = append(entries, completed(id, at, endNs, func(e *serverlog.Entry) {
					if inside && i%100 == 0 {
						rejected(e)
					}
				}), served(id, at, endNs, change))
			}
		}
		d := diagnosed(t, "1.36", entries...)
		got := kindsOf(d)
		if is := len(got) > 0 && got[0] == result.ByExecution; is != slow || slow && slices.Contains(got, result.ByDemand) || !slow && !slices.Contains(got, result.ByDemand) {
			t.Errorf("slow %v: causes %+v", slow, d.Verdict.Causes)
		}
		if c := d.Verdict.Causes[0]; slow && (c.FromNs != 10*second || c.ToNs != 20*second || c.Untrusted || !strings.Contains(c.Sentence, "for 5 times as long")) {
			t.Errorf("%+v", c)
		}
	}
}

// A request that was rejected after 60 s waited for longer than its release promises: before 1.28.5 that is a known fault.
func TestDiagnoseNamesAKnownFault(t *testing.T) {
	late := completed("late", 0, 60*second, rejected)
	for version, mended := range map[string]string{"1.24": "1.28.5", "1.27.16": "1.28.5", "1.28.4": "1.28.5", "1.28.5": "", "1.36": ""} {
		d := diagnosed(t, version, late)
		if len(d.KnownFaults) != 1 || d.KnownFaults[0].MendedIn != mended || d.KnownFaults[0].LongestNs != 60*second ||
			strings.Contains(d.KnownFaults[0].Sentence, "known fault") != (mended != "") {
			t.Errorf("%s: %+v", version, d.KnownFaults)
		}
	}
	if d := diagnosed(t, "1.24", completed("in time", 0, 15*second, rejected)); len(d.KnownFaults) > 0 {
		t.Errorf("a wait of 15 s: %+v", d.KnownFaults)
	}
}

// Requests of which a log has only addresses and user agents are one row, which says how many they are, and no flow of a cause.
func TestDiagnoseOfUnknownUsers(t *testing.T) {
	var entries []serverlog.Entry
	for i := range int64(200) {
		entries = append(entries, served(fmt.Sprint(i), i*ms, i*ms, func(e *serverlog.Entry) {
			e.User, e.Groups, e.SourceIP = "", nil, fmt.Sprint("10.0.0.", i%20)
			rejected(e)
			e.FlowSchema, e.PriorityLevel = "service-accounts", "workload-low"
		}))
	}
	d := diagnosed(t, "1.36", entries...)
	if len(d.Clients) != 1 || d.Clients[0].User != "" || d.Clients[0].Sent != 200 || !strings.Contains(d.logText(), "the user of 200 is not known") {
		t.Errorf("%s: %+v", d.logText(), d.Clients[0])
	}
	for _, c := range d.Verdict.Causes {
		if len(c.Flows) > 0 || strings.Contains(c.Sentence, result.UnknownUser) {
			t.Errorf("%+v", c)
		}
	}
	if h := d.Verdict.Harmed; len(h) != 1 || h[0].Flow != "" || strings.Contains(h[0].Name, result.UnknownUser) {
		t.Errorf("%+v", h)
	}
}
