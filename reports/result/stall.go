package result

// StallNs is how long a stall is at least that counts for Stall.Count and Stall.Share: a second,
// Kubernetes' objective for the latency of a single read or write.
const StallNs = 1_000_000_000
