package share

import (
	"cmp"
	"slices"
	"time"
)

// A round is what Decide works out.
type round struct {
	*Bucket
	now     time.Time
	live    []*client
	targets []int64 // of live
	usable  int64   // what may be in force
	force   int64   // what is in force
	free    int64   // of usable, what is not in force
	out     []Assignment
}

// Decide returns the assignments to send at the time: those that change, and those that must be
// renewed. Each has to be sent soon, or not at all, as [Bucket.Sent] says. No assignment ends after the
// time until.
//
// Shares follow demand by max-min fairness. A client whose demand is not known yet may have as
// much as the others. Clients without demand keep a small share for their next hit.
func (b *Bucket) Decide(now, until time.Time) []Assignment {
	b.clients = slices.DeleteFunc(b.clients, func(c *client) bool {
		return !c.live(now, &b.s) && c.inForce(now) == 0
	})
	b.fresh.forget(now.Add(-b.span()))
	if reserve(b.capacity) == 0 && b.InForce(now) > 0 {
		b.fresh.last(now) // it may have its hit now
	}
	b.past.note(now, b.InForce(now), b.span(), larger)
	b.capacities.note(now, b.capacity, b.span(), smaller)
	if now.Add(b.s.TTL + b.s.Delivery).After(until) {
		return nil
	}
	r := &round{Bucket: b, now: now}
	r.abandon()
	r.plan()
	moved := r.grow()
	moved = r.shrink() || moved
	if !moved {
		r.fill()
	}
	r.renew()
	return r.out
}

// abandon gives up clients that have had no hits for long.
func (r *round) abandon() {
	for _, c := range r.clients {
		switch {
		case !c.live(r.now, &r.s):
		case r.now.Sub(c.used) >= r.s.Idle:
			c.gone, c.sent = true, time.Time{}
			r.out = append(r.out, Assignment{ID: c.id, Abandon: true})
		default:
			r.live = append(r.live, c)
		}
	}
}

// plan finds the shares that clients should have.
func (r *round) plan() {
	capacity := min(r.capacity, r.target)
	r.usable = max(0, capacity-reserve(capacity))
	r.force = r.InForce(r.now)
	r.free = r.usable - r.force
	total := max(0, r.usable-r.inForceOf(r.now, false))
	wants, idle := make([]int64, len(r.live)), int64(0)
	for i, c := range r.live {
		switch {
		case !c.known():
			wants[i] = total
		case r.now.Sub(c.used) < max(memory*r.s.TTL, r.s.Window):
			wants[i] = c.want()
		default:
			if idle++; idle*400 <= total {
				wants[i] = 1
			}
		}
	}
	r.targets = Fair(total, wants)
}

// short reports by how much a client has less than it should and can use.
func (r *round) short(i int) int64 {
	c := r.live[i]
	has := c.now.at(r.now)
	if has > 0 && (r.careful(c) || c.known() && c.want() <= has) || r.targets[i]-has < r.tolerance(c) {
		return 0
	}
	return r.targets[i] - has
}

// tolerance returns which difference is too small for another assignment now. Each costs tokens, and
// demand is known only nearly.
func (r *round) tolerance(c *client) int64 {
	if has := c.now.at(r.now); has > 0 && r.now.Sub(c.changed) < max(r.s.TTL, r.s.Window) {
		return 2 + has/100
	}
	return max(1, r.usable/int64(400*len(r.live)))
}

// careful reports whether a client gets only half of what is free. Its demand is not known, others may
// come at the same time, and in a long window it takes long to take back what it does not need.
func (r *round) careful(c *client) bool { return !c.known() && r.s.Window > r.s.TTL }

// order returns the live clients for which the figure is not 0, the largest first.
func (r *round) order(figure func(int) int64) (all []int) {
	for i := range r.live {
		if figure(i) > 0 {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(figure(j), figure(i)) })
	return all
}

// grow gives what is free to clients that are short.
func (r *round) grow() (moved bool) {
	for _, i := range r.order(r.short) {
		c := r.live[i]
		held := c.inForce(r.now)
		free := max(0, r.free)
		if r.careful(c) {
			free = (free + 1) / 2
		}
		share := min(r.targets[i], held+free)
		gain := max(0, share-held)
		if share-c.now.at(r.now) < r.tolerance(c) || !r.affordable(gain, r.few()) {
			continue
		}
		r.free -= gain
		r.assign(c, share, r.few())
		moved = true
	}
	return moved
}

// shrink takes from clients that have more than they should, as much as others are short of.
func (r *round) shrink() (moved bool) {
	need, pending := -r.free, int64(0)
	for i, c := range r.live {
		pending += c.pending(r.now)
		need += r.short(i)
	}
	must := -r.free > pending // more is in force than should be
	surplus := func(i int) int64 {
		return max(0, r.live[i].now.at(r.now)-r.targets[i])
	}
	for _, i := range r.order(surplus) {
		c, much := r.live[i], surplus(i)
		if need <= pending || !must && (much < r.tolerance(c) || c.pending(r.now) > 0) {
			continue
		}
		tokens := r.few()
		if r.targets[i] == 0 {
			tokens = 0
		}
		if over := r.force > r.capacity-reserve(r.capacity); !over && !r.affordable(0, tokens) {
			break
		}
		r.assign(c, r.targets[i], tokens)
		pending += much
		moved = true
	}
	return moved
}

// burst is how much of its share a client may save up: bursts are allowed and no token is lost
// when hits come unevenly.
const burst = 50 * time.Millisecond

// fill lets clients save up more tokens, where there is room.
func (r *round) fill() {
	for _, c := range r.live {
		share := c.now.at(r.now)
		full := min(int64(float64(share)*float64(burst)/float64(r.s.Window)), reserve(r.capacity))
		if c.now.tokens >= full {
			continue
		}
		if !r.affordable(0, full) {
			return
		}
		r.assign(c, share, full)
	}
}

// renew sends again what would end, and tells clients that have no share.
func (r *round) renew() {
	for _, c := range r.live {
		if c.now.at(r.now) == 0 && (c.now.share > 0 || c.sent.IsZero()) {
			c.assign(r.now, 0, 0, &r.s)
		} else if r.now.Sub(c.sent) >= r.s.TTL/4 {
			if c.queued { // it begins later
				r.fresh.add(r.now, c.now.tokens, r.span())
			}
			c.renew(r.now, &r.s)
		} else {
			continue
		}
		r.out = append(r.out, Assignment{ID: c.id, Share: c.now.share, Tokens: c.now.tokens})
	}
}

func (r *round) assign(c *client, share, tokens int64) {
	r.force -= c.inForce(r.now)
	c.assign(r.now, share, tokens, &r.s)
	r.force += c.inForce(r.now)
	r.fresh.add(r.now, tokens, r.span())
	r.past.note(r.now, r.force, r.span(), larger)
	r.out = append(r.out, Assignment{ID: c.id, Share: share, Tokens: tokens})
}

// few is how many tokens an assignment begins with. With one alone a client loses what flows in
// between two hits.
func (r *round) few() int64 { return min(2, max(1, reserve(r.capacity))) }

// affordable reports whether an assignment that adds to what is in force can begin with the
// tokens. A share of 1 and its token are one hit, a window after the last one that another client may
// have had.
func (r *round) affordable(gain, tokens int64) bool {
	if reserve(r.capacity) == 0 {
		return tokens == 0 || r.fresh.sum(r.now.Add(-r.span())) == 0
	}
	if r.s.paid() {
		return r.paid(gain, tokens)
	}
	most := r.past.most(r.now, r.force+gain, &r.fresh, r.s.Window, r.s.Delivery)
	return most+float64(tokens) <= float64(r.capacity)
}

// Fair divides the total so that nobody gets less than it wants while another gets more than
// it (max-min fairness). What nobody wants is divided evenly. The parts are whole and add up to the
// total.
func Fair(total int64, wants []int64) []int64 {
	parts := make([]int64, len(wants))
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wants[i], wants[j]) })
	left := max(0, total)
	for k, i := range order {
		even := left / int64(len(order)-k)
		if wants[i] > even { // those behind it want more than that, too
			spread(parts, order[k:], left)
			return parts
		}
		parts[i] = wants[i]
		left -= wants[i]
	}
	spread(parts, order, left)
	return parts
}

// spread adds an even share to the parts. The first to have joined get what is left over.
func spread(parts []int64, of []int, total int64) {
	if len(of) == 0 {
		return
	}
	of = slices.Sorted(slices.Values(of))
	n := int64(len(of))
	for k, i := range of {
		parts[i] += total / n
		if int64(k) < total%n {
			parts[i]++
		}
	}
}
