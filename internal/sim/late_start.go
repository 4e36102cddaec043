package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/sim/simnet"
)

// In some worlds the servers start later than the client, which is Lazy.

const (
	// asleep is how long they refuse connections at the beginning.
	asleep = 5 * time.Second

	// wakes is how long a client may take to find out that they do not.
	wakes = 2 * time.Second

	// tells is when it has tried to reach them, and calls fail with what came of it.
	// A Sentinel's answer may come a second late, if its connection does not end.
	tells = 2 * time.Second
)

var lateServers = kind{name: "late servers", after: wakes}

// sleep makes all servers refuse connections until they have started.
func (w *world) sleep() {
	for _, addr := range w.addrs {
		time.AfterFunc(asleep, w.net.Impose(us, addr, simnet.Conditions{Refuse: true}))
	}
	w.rec.note(func(h *History) {
		h.Faults = append([]Fault{{kind: &lateServers, For: asleep}}, h.Faults...)
		h.Asleep = asleep
	})
}

// lazy: calls of a client that has not found a server fail at once, as not sent.
func lazy(h *History) string {
	for _, c := range h.Calls {
		if c.Ended >= h.Asleep || c.Misuse || c.Kind == allowing || c.Kind == burst || c.Kind == swarm {
			continue
		}
		if c.took() > h.slackOf(c) || !errors.Is(c.Err, redislanes.ErrNotSent) {
			return fmt.Sprintf("call %d (%s) began at %v, before there were servers, took %v and had error %v", c.ID, c.Kind, c.Began, c.took(), c.Err)
		}
		if c.Began > tells && !errors.As(c.Err, new(*cause.Unreachable)) {
			return fmt.Sprintf("call %d (%s) began at %v, before there were servers, and its error does not say why there is none: %v", c.ID, c.Kind, c.Began, c.Err)
		}
	}
	return ""
}
