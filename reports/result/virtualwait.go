package result

// RejectedRate is the part of the probes that would have been rejected.
func (v *VirtualWait) RejectedRate() float64 { return float64(v.Rejected) / float64(v.Probes) }
