package load

import (
	"sync"
	"time"
)

// Progress is how a step stands.
type Progress struct {
	Elapsed     time.Duration // since the step began
	Rate        float64       // successes a second since the last time
	Failed      int64         // of those that were due in the measured time so far
	Outstanding int
	P99         time.Duration // of the measured time so far
}

const watchEvery = time.Second

// watch calls Watch until stop is called, which waits for its end.
func (r *run) watch() (stop func()) {
	if r.Watch == nil {
		return func() {}
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		answered, last := int64(0), r.began
		for {
			select {
			case <-ticker.C:
			case <-quit:
				return
			}
			now, n := time.Now(), r.answered.Load()
			p := r.progress(now)
			p.Rate = float64(n-answered) / now.Sub(last).Seconds()
			answered, last = n, now
			r.Watch(p)
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

func (r *run) progress(now time.Time) Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Progress{
		Elapsed: now.Sub(r.began), Outstanding: int(r.outstanding.Load()), Failed: r.result.Failed(), P99: r.result.Percentile(99),
	}
}
