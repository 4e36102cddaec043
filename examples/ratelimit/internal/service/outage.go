package service

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redislanes/redislanes/limit"
)

const (
	// outageQuiet is how long no limit must have been decided without Redis before an
	// outage has ended. While one node of several is down, others still decide.
	outageQuiet = 10 * time.Second

	// outageEvery is how often the log says how an outage stands, while there are requests.
	outageEvery = time.Minute

	// outageCauses is how many different errors are counted between two lines.
	outageCauses = 20
)

// LogOutages returns an observer that passes everything on to next. It logs when limits begin to be
// decided without Redis, each minute while they are, and when that has ended: at the first
// decision of Redis after 10 s without such limits. The lines say whether requests pass or are denied.
func LogOutages(next limit.Observer, log *slog.Logger) limit.Observer {
	return &outages{Observer: next, log: log}
}

type outages struct {
	limit.Observer
	log *slog.Logger

	on atomic.Bool // written with mu held

	mu                 sync.Mutex // guards what follows
	began, last, lined time.Time  // of the limits decided without Redis; the last line
	since              outage     // since the last line
	limits             int        // decided without Redis in the whole outage
}

// An outage is what became of limits.
type outage struct {
	passed, denied, all int // without Redis, and all
	causes              map[string]int
}

// Decided is part of limit.Observer.
func (o *outages) Decided(took time.Duration, requests []limit.Request, result limit.Result) {
	o.Observer.Decided(took, requests, result)
	var now outage
	var why error
	redis := false
	for _, d := range result.Each() {
		now.all++
		switch d.Outcome() {
		case "failed_open":
			now.passed, why = now.passed+1, d.Err
		case "failed_closed":
			now.denied, why = now.denied+1, d.Err
		case "allowed", "allowed_leased", "denied", "denied_by_other": // a lease does not last for 10 s
			redis = true
		case "denied_near":
		default:
			now.all-- // Canceled: the client has gone, and not Redis
		}
	}
	if why != nil || o.on.Load() {
		o.note(now, why, redis)
	}
}

func (o *outages) note(now outage, why error, redis bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since.passed, o.since.denied, o.since.all = o.since.passed+now.passed, o.since.denied+now.denied, o.since.all+now.all
	at := time.Now()
	switch {
	case why != nil:
		first := !o.on.Swap(true)
		if first {
			o.began, o.limits, o.since = at, 0, now
			o.since.causes = make(map[string]int)
		}
		o.limits, o.last = o.limits+now.passed+now.denied, at
		if text := why.Error(); o.since.causes[text] > 0 || len(o.since.causes) < outageCauses {
			o.since.causes[text]++
		}
		if !first && at.Sub(o.lined) < outageEvery {
			return
		}
		figures := []any{"cause", o.since.cause()}
		if !first {
			share := 100 * float64(o.since.passed+o.since.denied) / float64(o.since.all)
			figures = append(figures, "share", fmt.Sprintf("%.3g%%", share), "passed", o.since.passed, "denied", o.since.denied, "for", at.Sub(o.began).Round(time.Millisecond))
		}
		o.log.Warn(o.since.said(), figures...)
		o.since, o.lined = outage{causes: make(map[string]int)}, at
	case redis && o.on.Load() && at.Sub(o.last) >= outageQuiet:
		o.log.Info("Redis decides all limits again", "limits", o.limits, "for", o.last.Sub(o.began).Round(time.Millisecond))
		o.on.Store(false)
	}
}

// said says what becomes of requests.
func (o *outage) said() string {
	switch {
	case o.denied == 0:
		return "limits are not enforced: Redis cannot decide, and requests pass"
	case o.passed == 0:
		return "requests are denied: Redis cannot decide limits that fail closed"
	}
	return "limits are not enforced: Redis cannot decide, some requests pass, and limits that fail closed deny others"
}

// cause returns the most frequent error.
func (o *outage) cause() (text string) {
	for cause, n := range o.causes {
		if most := o.causes[text]; n > most || n == most && cause < text {
			text = cause
		}
	}
	return text
}
