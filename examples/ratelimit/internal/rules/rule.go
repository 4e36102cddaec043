package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/redislanes/redislanes/limit"
)

// A Unit is the time that a limit holds for, as the files have it.
type Unit string

// windows has the length of each unit. A month is 30 days and a year 365: without a time zone, windows
// follow one another from the beginning of 1970 on, and not the calendar.
var windows = map[Unit]time.Duration{
	"second": time.Second,
	"minute": time.Minute,
	"hour":   time.Hour,
	"day":    24 * time.Hour,
	"week":   7 * 24 * time.Hour,
	"month":  30 * 24 * time.Hour,
	"year":   365 * 24 * time.Hour,
}

// units has those of the calendar.
var units = map[Unit]limit.Unit{"day": limit.Day, "week": limit.Week, "month": limit.Month, "year": limit.Year}

const unitNames = "second, minute, hour, day, week, month or year"

// A Charge says which hits count whatever they cost, also if the request is denied.
type Charge uint8

// What a rule may say of hits.
const (
	// ChargeReports is those that a descriptor brings with itself, if they are more than one: a
	// report of what a stream has used.
	ChargeReports Charge = iota
	ChargeAll
	ChargeNone
)

// Charges reports whether so many hits count whatever they cost. own says that they are those
// of the descriptor itself.
func (c Charge) Charges(hits int64, own bool) bool {
	return c == ChargeAll || c == ChargeReports && own && hits > 1
}

// A Rule is what a file says of the descriptors that it matches.
type Rule struct {
	Name            string       // of rate_limit.name; "" for none
	Replaces        []string     // names of rules that do not count beside this one
	Unlimited       bool         // then what follows is not set
	Limit           *limit.Limit // its name tells it from all others
	Own             limit.Rule   // in place of Limit: one that comes with the request
	Charge          Charge
	Unit            Unit
	RequestsPerUnit uint32

	// Quota says that the rule denies a request only if all rules of the request that have it do.
	// Its limit is in the shadow.
	Quota bool
}

// Window returns how long a window of the rule is, of the calendar about.
func (r *Rule) Window() time.Duration { return windows[r.Unit] }

// Settings returns those of the limit.
func (r *Rule) Settings() limit.Rule {
	if r.Limit == nil {
		return r.Own
	}
	return r.Limit.Rule()
}

// InShadow reports whether the rule denies nothing.
func (r *Rule) InShadow() bool { return r.Settings().Shadow && !r.Quota }

// Override returns the limit that a descriptor brings with itself, and the key that
// its hits are counted by. No file can have a limit of its name, which has no dot.
func Override(domain string, entries []Entry, perUnit uint32, unit Unit, shadow bool) (*Rule, string, error) {
	window, ok := windows[unit]
	if !ok {
		return nil, "", fmt.Errorf("unit = %q: want %s", unit, unitNames)
	}
	key := appendPart(nil, domain)
	for _, e := range entries {
		key = appendPart(appendPart(key, e.Key), e.Value)
	}
	own := limit.Rule{Name: "override-" + string(unit), Quota: int64(perUnit), Window: window, Shadow: shadow}
	return &Rule{Own: own, Unit: unit, RequestsPerUnit: perUnit}, finish(key), nil
}

// IsAs reports whether a rule denies the same as the limit that a descriptor brings with itself, which is
// never in the shadow by itself.
func (r *Rule) IsAs(own *Rule) bool {
	return r != nil && r.Unit == own.Unit && r.RequestsPerUnit == own.RequestsPerUnit && r.Settings().Shadow == own.Own.Shadow
}

// A Set is the rules of all domains. It does not change.
type Set struct {
	domains map[string]*node
	rules   int
}

// Rules returns how many rules there are.
func (s *Set) Rules() int { return s.rules }

// Domains returns how many domains there are.
func (s *Set) Domains() int { return len(s.domains) }

// Without returns the domains of the set that have no descriptors in the next one, sorted.
func (s *Set) Without(next *Set) (gone []string) {
	for domain, root := range s.domains {
		if n := next.domains[domain]; !root.empty() && (n == nil || n.empty()) {
			gone = append(gone, domain)
		}
	}
	slices.Sort(gone)
	return gone
}

// A node is a level of a domain: the descriptors that may follow those before.
type node struct {
	rule     *Rule               // nil if no rule ends here
	at       place               // of the descriptor; the first one, of a domain
	shared   bool                // all values that match it have one counter
	exact    map[Entry]*node     // by key and value
	any      map[string]*node    // by key: those without a value
	prefixes map[string][]prefix // by key, the longest first: those with a value that ends in *
}

func newNode(at place) *node {
	return &node{at: at, exact: make(map[Entry]*node), any: make(map[string]*node), prefixes: make(map[string][]prefix)}
}

func (n *node) empty() bool { return len(n.exact)+len(n.any)+len(n.prefixes) == 0 }

type prefix struct {
	text string
	node *node
}
