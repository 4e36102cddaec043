package drill

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A meter says whether the machine has had time for this process. Where goroutines wake
// late, requests are slow though neither Redis nor the client is: what an alert then
// says is true, and nothing of what is drilled.
type meter struct {
	mu          sync.Mutex // guards what follows
	woken, late int
	worst       time.Duration
}

const (
	tick     = 10 * time.Millisecond
	tooLate  = 10 * time.Millisecond // half of what RedislanesRequestSlow allows
	tolerate = 0.005                 // the share of late ones: half of what P99 leaves out
)

func startMeter(t *testing.T) *meter {
	m := new(meter)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			began := time.Now()
			select {
			case <-time.After(tick):
				m.note(time.Since(began) - tick)
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	return m
}

func (m *meter) note(late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.woken++
	if late > tooLate {
		m.late++
	}
	m.worst = max(m.worst, late)
}

// overloaded reports whether goroutines have woken too late, and describes it.
func (m *meter) overloaded() (text string, overloaded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	share := float64(m.late) / float64(max(1, m.woken))
	text = fmt.Sprintf("%.2f %% of %d wake-ups were over %v late, the latest %v", 100*share, m.woken, tooLate, m.worst.Round(time.Millisecond))
	return text, share > tolerate
}
