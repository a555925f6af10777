package scenario

// isShare reports whether a statistic is a part of something, which tables print in percent.
func isShare(metric, stat string, unit Unit) bool {
	switch {
	case unit == Fraction, stat == "rate":
		return true
	case metric == "utilisation":
		return stat == "mean"
	case metric == "fairShare":
		return stat == "ratio"
	}
	return false
}
