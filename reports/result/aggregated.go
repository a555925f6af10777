package result

// AggregatedServer has the statistics of the requests that were passed on to an aggregated server: what its own
// flow control did with them. Execution is from there to the end of the call. They are also requests of the API
// servers, where they have seats meanwhile.
type AggregatedServer struct {
	Group
}
