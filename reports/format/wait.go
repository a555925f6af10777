package format

func PercentTick(share float64) string { return Digits(share*100) + " %" }
