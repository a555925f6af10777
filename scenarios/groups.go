package scenarios

// Group is the scenarios of one subject.
type Group struct {
	Title     string  `json:"title"`
	Scenarios []Entry `json:"scenarios"`
}

// Entry is a scenario of the library, and what it shows.
type Entry struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Groups has all scenarios of the library, each once. docs/reference/scenarios.md has the same.
var Groups = []Group{
	{"A client that asks for too much", []Entry{
		{"elephants-and-mice", "Four clients ask for more than their level can serve; a hundred small clients are not affected"},
		{"noisy-namespace", "The same load with flows distinguished by user and by namespace"},
		{"controller-write-loop", "A controller sends wide writes in a tight loop; the other tenants of its level still get their fair share"},
		{"kubelet-list-loop", "One kubelet lists all pods in a loop; only its own requests wait for seconds"},
		{"leader-election", "Lease renewals of system controllers and of tenants during a flood of requests"},
		{"leader-lost", "Leaders lose their leases behind a flood at the same level, and keep them at another level"},
		{"policy-engine-behind-operators", "New pods wait for a policy engine, whose requests wait behind operators that are stuck in a loop"},
		{"autoscaler-lease-behind-lists", "An autoscaler outside of kube-system loses its lease behind the lists of 30 teams"},
		{"node-heartbeats", "5000 nodes renew their leases without waiting while workload-low is overloaded"},
		{"nodes-not-ready", "1.21 and 1.22: a daemon set at the level of the kubelets makes all nodes not ready, or does not"},
		{"idle-capacity-penalty", "A user that used idle capacity is penalised later: fair queuing is not max-min fair"},
		{"the-article-of-1.18", "1.18, 1.20, 1.23 and 1.37: a user that did not use its share later takes every seat, until later releases bound its credit"},
		{"anonymous-health-checks", "Anonymous health checks are exempt and pass, while other anonymous requests flood the server"},
		{"max-in-flight", "The same flood with the max-in-flight filter, without any limit, and with APF"},
	}},
	{"Wide lists and watches", []Entry{
		{"wide-lists", "Slow, wide lists keep small requests waiting although some seats are free"},
		{"wide-lists-at-catch-all", "A level that rejects has no seat cap: while a wide list executes, all other requests of the level are rejected"},
		{"list-storm", "300 informers list all pods at once; small requests at the same level wait behind the lists"},
		{"lists-by-bytes", "1.31 and 1.34: pages of small objects become narrow, and lists of large objects wide"},
		{"list-seat-cap", "A rollout lists 200 MB 200 times on a server with 4000 seats: each list counts 10 seats, and the cap of 100 is never reached"},
		{"isolate-list-events", "Expensive lists of one account are sent to catch-all, which borrows ten times its nominal limit"},
		{"informer-restart", "Restarted informers stall a controller for ten seconds; the percentiles of its waits do not show it"},
		{"watch-storm", "400 watches request initial events after a restart, while 400 other watches resume"},
		{"watch-fan-out", "Flow control reserves 1 seat-second for a write that 2000 watches see, which takes 38 ms of the processor"},
		{"informers-at-scale", "The published case of WatchList in shape: 16 lists of 400 MB kill a server, and 16 watches with initial events do not"},
		{"chunked-lists", "Pages of a list come from snapshots of the watch cache, then from etcd, until it compacts them: 410. Before 1.34, all come from etcd"},
		{"page-of-500-walks-everything", "A list in pages walks 150 times the objects of a whole list: seats beside work"},
	}},
	{"Seats of priority levels", []Entry{
		{"lent-seats", "A burst at an idle level waits for up to ten seconds, until the level gets its lent seats back"},
		{"borrowing", "Idle priority levels lend seats, and get them back at the next adjustment of the limits"},
		{"borrowing-stops", "1.26.12 and 1.26.13: a constant demand ends all borrowing until the server is restarted, or does not"},
		{"exempt-demand", "The seats of the exempt level do not reduce those of other levels, until its demand is very high"},
		{"zero-shares", "A level with zero shares still admits one request at a time"},
		{"edit-undone", "An operator's edit of a suggested priority level is undone within a minute, unless it sets an annotation"},
	}},
	{"A slow or overloaded server", []Entry{
		{"congestion-collapse", "A server of 5 000 nodes becomes slow: the throughput, waits and rejections of a scalability test that collapsed"},
		{"metastable-collapse", "A server is slow for 20 s and never recovers, because too many requests execute at once"},
		{"more-seats-less-throughput", "The same with a quarter of the seats: the server recovers, since fewer requests hinder each other"},
		{"collapse-max-in-flight", "A slow server with the max-in-flight filter: leases of leaders are rejected as often as everything else"},
		{"collapse-with-priorities", "The same slow server with APF: leases of leaders neither wait nor are rejected"},
		{"memory-and-relists", "Lists at the same time need more memory than the server has: it is killed, and the lists come back"},
		{"webhook-deadlock", "Eighty requests at once take the seats that their webhook needs, and the level stands still. Three changes help, and one does not"},
		{"exempt-outers", "Exempt requests wait for a webhook at workload-low: they are as slow as its queue, and fill it alone"},
	}},
	{"Restarts, crashes and upgrades", []Entry{
		{"rolling-restart", "Three servers are restarted with the right delay: no request is refused"},
		{"rolling-restart-without-delay", "The same without a delay: the load balancer still sends clients to a server that no longer listens"},
		{"rolling-restart-send-retry-after", "The same without a delay, with 429 instead of refused connections: it does not replace the delay"},
		{"crash-and-reconnect", "One of three servers crashes: a thousand watches open again at once, and a third of the connections is refused"},
		{"last-restarted-is-idle", "After a rolling restart, the server that was last has no clients"},
		{"goaway-chance", "The cure of last-restarted-is-idle: clients connect anew now and then, and all servers have the same load"},
		{"relist-storm", "Servers restart: with bookmarks nobody lists again, without them everybody does; and the same storm by WatchList"},
		{"cold-cache-429", "A server starts, and its watch caches are not ready: 429 with a growing Retry-After, so that informers come back late"},
		{"upgrade-1.26-to-1.28", "1.26 and 1.28: exempt requests reduce the seats of others, and long waits end after 15 s"},
		{"upgrade-fight", "Servers of 1.33 and 1.34 undo the writes of each other: leader elections wait for 40 s of each minute"},
	}},
	{"The store and its clients", []Entry{
		{"day-of-5000-nodes", "What a healthy cluster of 5000 nodes sends over a day: most seats of workload-high are those of few writes that all nodes watch"},
		{"events-flood", "Events of many objects slow down all writes to etcd, and lists of events never come from a cache"},
		{"consistent-list-waits", "A consistent list of a resource that does not change waits for up to 0.1 s until its watch cache knows the latest revision"},
		{"quiet-resource-never-expires", "A watch of a quiet resource resumes from any version; one of a busy resource needs bookmarks, or is answered 410"},
		{"slow-watcher-stalls-its-resource", "One slow client delays the events of all watches of its resource, until its watch is closed, again and again"},
		{"deletecollection-of-10000", "One request that deletes 10 000 objects ends with 504 after a part of them; requests for pages do not"},
		{"finalizer-story", "The life of an object with a finalizer, call by call, with the status of each answer"},
		{"conflict-put-against-patch-against-apply", "Ten writers of one object: those that put lose work, those that patch or apply only wait"},
		{"lost-update-without-a-version", "Updates without a version overwrite the work of others; with a version they get a conflict"},
	}},
	{"Published incidents and measurements", []Entry{
		{"consistent-list-once-per-second", "KEP-2340: a consistent list of 300 000 objects that selects none takes 0.5 s from the watch cache"},
		{"consistent-list-once-per-second-etcd", "The same from etcd: 10.5 s"},
		{"consistent-list-once-per-second-large", "The same of 300 objects of 1 MB from the watch cache"},
		{"consistent-list-once-per-second-large-etcd", "The same of 300 objects of 1 MB from etcd"},
		{"sandbox-claims-burst", "A controller's own creations, and seats that are lent, delay the requests that users wait for"},
		{"sandbox-claims-insulated", "The levels of agent-sandbox: 300 claims at once have 78 seats of their own"},
		{"sandbox-claims-insulated-4000", "The same with 4 000 seats, of which the claims have 517"},
		{"sandbox-claims-insulated-steady", "The same levels with 45 claims a second"},
		{"too-many-requests-4000-nodes", "Nodes repeat their writes each second, and nine of ten are answered 429"},
		{"too-many-requests-4000-nodes-fair", "The same with API Priority and Fairness: the status of nodes fares better than events"},
		{"palark-node-lists", "Agents of 80 nodes send 60 lists of all pods each, which read 64 GB from etcd"},
		{"palark-node-lists-own-level", "The same lists at a priority level of few seats"},
		{"palark-node-lists-range", "How long etcd takes for one of these lists"},
		{"cilium-endpoints-160k", "Lists of 160 000 objects take longer than the server's time limit, and no agent ever starts"},
		{"cilium-endpoints-160k-half", "Half as many agents all start"},
		{"multus-webhook-225", "225 lists of all pods at once kill servers again and again"},
		{"multus-webhook-2", "The same webhook with 2 replicas kills none"},
		{"informers-of-400-mb", "KEP-3157: 16 lists of 400 MB at once kill a server"},
		{"informers-of-400-mb-eight", "Half as many lists do not"},
		{"informers-of-400-mb-four", "The memory that a quarter of them take"},
		{"informers-of-400-mb-watch-list", "1 024 watches with initial events of 400 MB do not"},
		{"informers-of-400-mb-test-list", "The memory that 16 lists of 400 MB take"},
		{"informers-of-400-mb-test-watch-list", "The memory that 16 watches with initial events of 400 MB take"},
		{"informers-of-400-mb-pods", "How long informers take to get 165 000 pods by watches with initial events"},
		{"cold-cache-liveness-loop-5000", "A liveness probe ends a server again and again before its watch caches are complete, so that it does not recover"},
		{"cold-cache-liveness-loop-5000-delay", "The same with an initial delay of 45 s: the server is left alone until its caches are complete"},
		{"kubelets-close-connections-5000", "Kubelets close all connections when heartbeats fail, and their watches keep a restarted server overloaded"},
		{"kubelets-close-connections-5000-idle", "The same with kubelets that close idle connections only: the server recovers within 3 min"},
		{"list-cost-table", "Lists from etcd of 10 MB, each with 100 seats: one row of a published table"},
		{"list-cost-table-one-seat", "The same lists with one seat each: none waits"},
		{"list-cost-table-in-flight", "400 of these lists in flight, with one seat each: the memory that they take"},
		{"list-cost-table-in-flight-hundred-seats", "The same with 100 seats each: hardly any memory"},
	}},
}
