package guard

import (
	"fmt"
	"io"
)

// MostAnswer is how many bytes of an answer are read into memory. The metrics of a large cluster have some tens of
// megabytes. A compressed answer may have a thousand times as many as arrive.
const MostAnswer = 256 << 20

// TooLong is the error of [ReadAll] for a text that has more bytes.
type TooLong int64

// Error says how many bytes are read at most.
func (most TooLong) Error() string {
	return fmt.Sprintf("has more than %d bytes; no more are read", int64(most))
}

// ReadAll reads all of a text, or returns an error if it has more bytes than that.
func ReadAll(r io.Reader, maxBytes int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		return nil, TooLong(maxBytes)
	}
	return text, err
}
