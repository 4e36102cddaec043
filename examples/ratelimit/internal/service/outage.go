package service

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// outageQuiet is how long no limit must have been decided without Redis before an
// outage has ended. While one node of several is down, others still decide.
const outageQuiet = 10 * time.Second

// LogOutages returns an observer that passes everything on to next. It logs once when
// limits begin to be decided without Redis, and once when that has ended: at the first
// decision of Redis after 10 s without such limits.
func LogOutages(next limit.Observer, log *slog.Logger) limit.Observer {
	return &outages{Observer: next, log: log}
}

type outages struct {
	limit.Observer
	log *slog.Logger

	on atomic.Bool // written with mu held

	mu          sync.Mutex // guards what follows
	began, last time.Time  // of the limits decided without Redis
	limits      int        // how many those are
}

// Decided is part of limit.Observer.
func (o *outages) Decided(took time.Duration, requests []limit.Request, result limit.Result) {
	o.Observer.Decided(took, requests, result)
	without, by := 0, false
	var why error
	for _, d := range result.Each() {
		switch d.Outcome() {
		case "failed_open", "failed_closed": // not Canceled: the client has gone
			if without++; why == nil {
				why = d.Err
			}
		case "allowed", "allowed_leased", "denied", "denied_by_other": // a lease does not last for 10 s
			by = true
		}
	}
	switch {
	case without > 0:
		o.failed(without, why)
	case by && o.on.Load():
		o.answered()
	}
}

func (o *outages) failed(limits int, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	o.limits += limits
	if o.on.Load() {
		return
	}
	o.began = o.last
	o.on.Store(true)
	o.log.Warn("limits are decided without Redis, as their rules say", "limits", o.limits, "error", why)
}

func (o *outages) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.on.Load() || time.Since(o.last) < outageQuiet {
		return
	}
	o.log.Info("Redis decides all limits again", "limits", o.limits, "for", o.last.Sub(o.began).Round(time.Millisecond))
	o.limits = 0
	o.on.Store(false)
}
