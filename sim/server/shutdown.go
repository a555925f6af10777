package server

import (
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Process says how the processes of servers stop and start.
type Process struct {
	Shutdown Shutdown `json:"shutdown,omitempty" jsonschema_description:"How a server stops."`
	Startup  Startup  `json:"startup,omitempty" jsonschema_description:"How a server starts."`
}

// Shutdown is how a server stops. The fields are the flags of kube-apiserver, except hooks and killAfter.
type Shutdown struct {
	Delay                       quantity.Duration `json:"delay,omitempty" jsonschema_description:"--shutdown-delay-duration: the server is not ready but serves everything."`
	SendRetryAfter              bool              `json:"sendRetryAfter,omitempty" jsonschema_description:"--shutdown-send-retry-after: new requests are answered 429 instead of refused."`
	WatchTerminationGracePeriod quantity.Duration `json:"watchTerminationGracePeriod,omitempty" jsonschema_description:"--shutdown-watch-termination-grace-period: open watches are ended over this time."`
	Hooks                       quantity.Duration `json:"hooks,omitempty" jsonschema_description:"How long the hooks before the shutdown take; the server serves at least as long."`
	KillAfter                   quantity.Duration `json:"killAfter,omitempty" jsonschema_description:"When the server is killed if it has not ended, as terminationGracePeriodSeconds; without it never, and 30s with servers.probes."`
	WatchLeak                   int               `json:"watchLeak,omitempty" jsonschema:"minimum=0" jsonschema_description:"Watches that end at once at the begin of the grace period, before their rate is limited."`
	HookError                   bool              `json:"hookError,omitempty" jsonschema_description:"A hook before the shutdown returns an error: the process ends when the hooks are over, without waiting for anything."`
	Audit                       quantity.Duration `json:"audit,omitempty" jsonschema_description:"How long the audit backend takes to shut down, which it does when the requests in flight are over."`
}

// Startup is how a server starts.
type Startup struct {
	Duration quantity.Duration `json:"duration,omitempty" jsonschema:"default=0s" jsonschema_description:"From the start of the process, which listens at once, until /readyz succeeds."`
	Objects  quantity.Duration `json:"objects,omitempty" jsonschema_description:"From the start of the process until the flow-control objects are read; until then all requests but those of system:masters belong to catch-all."`
	Caches   quantity.Duration `json:"caches,omitempty" jsonschema_description:"From the start of the process until its watch caches are complete; until then watches are answered 429 (before 1.31 they wait), and from 1.36 on the server is not ready for up to 1m."`

	LivezGracePeriod quantity.Duration `json:"livezGracePeriod,omitempty" jsonschema_description:"--livez-grace-period: for how long /livez succeeds from the start of the process although the server is not ready."`

	RestartAfter quantity.Duration `json:"restartAfter,omitempty" jsonschema_description:"From the end of a process that nobody has told to stop until it is started again; without it, only an event starts it."`
}

// Check checks the startup at path.
func (s *Startup) Check(to *document.Checker, path string) {
	if s.Objects > s.Duration {
		to.Fail(path+".objects", "%v: want at most duration, %v, as a server is not ready before it has read the objects", s.Objects, s.Duration)
	}
}
