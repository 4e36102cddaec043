package limit

import "time"

// A Request is a number of hits on one key of a limit.
type Request struct {
	// Limit is what is asked about. Without one, Rule is: a limit that comes with the call, such as that of a
	// customer's plan. It costs a look into a map more, and has leases as one that was made before: the limiter
	// remembers the last 10,000 rules.
	Limit *Limit
	Rule  Rule

	Key  string // such as the name of a user; any bytes. A hash tag in braces chooses the slot
	Cost int64  // how many hits; 0 means 1, also with Charge and in GiveBack

	// Look asks whether the hits would be allowed, and writes nothing. If they would not, the
	// whole call is denied. It does not see the other hits of its call.
	Look bool

	// Charge counts the hits even beyond the limit, and even if another request denies the
	// call. They are not given back. The decision says whether they were within the limit. If
	// not, the call is denied, and RetryAfter is the time until one hit may be allowed. A cost
	// counts as 1,000,000,000,000 at most. A Look is no Charge.
	Charge bool
}

// A Decision is the decision about a request, or about all requests of a call.
type Decision struct {
	Allowed bool
	Quota   int64 // of the rule

	// Remaining is how many more hits are allowed now, after those of the request. It is 0 if Redis did not
	// decide (Err), or if RetryAfter is Never. It includes hits that this limiter has reserved, and not those
	// that other processes have. If Leased or Near is set, it comes from Redis' last replies. A Look takes no
	// hits off.
	Remaining int64

	// ResetAfter is the time until the full limit is available again, if the key is not used:
	// the end of the window, for a sliding window the end of the next one, and for a bucket the
	// time when it is full. That of a bucket counts reserved tokens as taken. If Leased or Near is set, it
	// comes from Redis' last reply.
	ResetAfter time.Duration

	// RetryAfter is the time until the request may be allowed, if nobody else uses the key. It
	// is 0 if the request was allowed or was not asked about. It is also 0 if Err is set: then choose
	// a time yourself. It is [Never] if the request costs more than the limit. The cost of
	// earlier requests of the call with the same limit and key counts, too.
	RetryAfter time.Duration

	// Leased says that the request was allowed without Redis, from hits that this limiter had
	// reserved.
	Leased bool

	// Near says that the request was denied without Redis: its hits do not fit by Redis' last reply,
	// which the near cache remembers.
	Near bool

	// Warned says that at least the part Rule.Warn of the limit is used, with the request's hits if they
	// were allowed, and those that other processes have reserved. It is false if Remaining is not known.
	Warned bool

	mistake bool
	other   bool // allowed, in a call that is denied
	left    bool // Redis did not decide, and the caller's context was canceled

	// Err is why Redis did not decide, or what is wrong with the request. If Redis did not
	// decide, the rule's FailClosed or Config.Instances did, and Remaining and the times are 0.
	// With redislanes.ErrUnknownOutcome the hits may have been counted.
	Err error
}

// warn sets Warned.
func (d *Decision) warn(r *Rule) {
	if r.Warn > 0 && d.Err == nil && (d.Allowed || d.RetryAfter > 0 && d.RetryAfter != Never) {
		d.Warned = float64(r.burst()-d.Remaining)/float64(r.burst()) >= r.Warn
	}
}

// Never is the RetryAfter of a request that costs more than the limit (its Quota, or a bucket's Burst), so that it can
// never be allowed.
const Never time.Duration = 1<<63 - 1

// A Result is the decision about a call. It has the figures of one of its requests:
//
//   - of a mistaken request, if there is one;
//   - else, if the call is denied, of the denied request with the longest RetryAfter;
//   - else of the request with the fewest hits remaining. Err is then the first error of the
//     requests that Redis did not decide.
//
// Requests of shadow limits are left out, with their errors. If there are no others, the call is
// allowed, and its figures are 0.
type Result struct {
	Decision

	// Decisions has the decisions of a call of several requests. Use Each, which has that of a single request, too.
	Decisions []Decision
}

// Each returns the decisions about the requests, in their order, including those of shadow
// limits. For a request that Redis was not asked about, because another one denied the
// call first, only Quota is set.
func (r Result) Each() []Decision {
	if r.Decisions == nil {
		return []Decision{r.Decision}
	}
	return r.Decisions
}
