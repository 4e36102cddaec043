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

// LogOutages returns an observer that passes everything on to next. It logs when limits begin to be
// decided without Redis, and when that has ended: at the first decision of Redis after 10 s without such
// limits. The first line says whether requests pass or are denied, and the last one how many limits did.
func LogOutages(next limit.Observer, log *slog.Logger) limit.Observer {
	return &outages{Observer: next, log: log}
}

type outages struct {
	limit.Observer
	log *slog.Logger

	on atomic.Bool // written with mu held

	mu             sync.Mutex // guards what follows
	began, last    time.Time  // of the limits decided without Redis
	passed, denied int        // of these limits
}

// Decided is part of limit.Observer.
func (o *outages) Decided(took time.Duration, requests []limit.Request, result limit.Result) {
	o.Observer.Decided(took, requests, result)
	var why error
	passed, denied, redis := 0, 0, false
	for _, d := range result.Each() {
		switch d.Outcome() {
		case "failed_open":
			passed, why = passed+1, d.Err
		case "failed_closed":
			denied, why = denied+1, d.Err
		case "allowed", "allowed_leased", "denied", "denied_by_other": // a lease does not last for 10 s
			redis = true
		}
	}
	switch {
	case why != nil:
		o.note(passed, denied, why)
	case redis && o.on.Load():
		o.over()
	}
}

// note counts limits that were decided without Redis.
func (o *outages) note(passed, denied int, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if !o.on.Swap(true) {
		o.began, o.passed, o.denied = o.last, 0, 0
		o.log.Warn(said(passed, denied), "cause", why)
	}
	o.passed, o.denied = o.passed+passed, o.denied+denied
}

// over ends the outage if it was quiet for long enough.
func (o *outages) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on.Load() && time.Since(o.last) >= outageQuiet {
		o.log.Info("Redis decides all limits again", "passed", o.passed, "denied", o.denied, "for", o.last.Sub(o.began).Round(time.Millisecond))
		o.on.Store(false)
	}
}

// said says what becomes of requests.
func said(passed, denied int) string {
	switch {
	case denied == 0:
		return "limits are not enforced: Redis cannot decide, and requests pass"
	case passed == 0:
		return "requests are denied: Redis cannot decide limits that fail closed"
	}
	return "limits are not enforced: Redis cannot decide, some requests pass, and limits that fail closed deny others"
}
