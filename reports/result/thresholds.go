package result

// Notes of a threshold that has no value.
const (
	NoSamples   = "no samples"
	NoSuchFlow  = "no such flow appeared"
	NoSuchLevel = "the priority level did not exist"
	NoLimit     = "an exempt level has no limit"
)
