package workload

// What tests of package workload_test need to know of machines.

// Recorder is an event recorder.
type Recorder = recorder

// Happen makes an event happen.
func (r *recorder) Happen(nowNs int64, object, message int) {
	r.record(eventOccurrence{nowNs, object, message})
}

// QueueLen returns how many items the work queue of a controller knows.
func QueueLen(m Machine) int { return len(m.(*controller).queue.items) }

// Pods returns how many pods a kubelet knows.
func Pods(m Machine) int { return len(m.(*kubelet).pods.all) }

// IsCounted says whether a pod of a kubelet is among those that are only counted.
func IsCounted(m Machine, name string) bool { return m.(*kubelet).pods.find(name).counted }

// AddPod adds a pod of which a kubelet knows only the name.
func AddPod(m Machine, name string) {
	pods, p := &m.(*kubelet).pods, &pod{name: name}
	pods.all, pods.byName[name] = append(pods.all, p), p
}
