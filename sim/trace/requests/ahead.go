package requests

// The values that are passed between two goroutines: so many at a time, in so many batches.
const (
	batchSize = 256
	batches   = 4
)

// ahead calls take for all values of produce, in their order, while produce runs ahead in another goroutine. For each value
// produce calls next, which returns where to put it: a value from before, which is used again. It is nil after an error of take,
// when produce must return. ahead returns when both have ended. The error is that of take or else that of produce.
func ahead[T any](produce func(next func() *T) error, take func(*T) error) error {
	free, full := make(chan []T, batches), make(chan []T, batches)
	for range batches {
		free <- make([]T, 0, batchSize)
	}
	var failed error // of produce, until full is closed
	go func() {
		defer close(full)
		batch, open := <-free
		batch = batch[:0]
		failed = produce(func() *T {
			if len(batch) == batchSize {
				full <- batch
				batch, open = <-free
				batch = batch[:0]
			}
			if !open {
				return nil
			}
			batch = batch[:len(batch)+1]
			return &batch[len(batch)-1]
		})
		full <- batch
	}()
	var err error
	for batch := range full {
		for i := range batch {
			if err = take(&batch[i]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
		free <- batch
	}
	close(free)
	for range full { // until produce has returned
	}
	if err == nil {
		err = failed
	}
	return err
}
