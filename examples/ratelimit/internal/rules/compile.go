package rules

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/limit"
)

var algorithms = map[string]limit.Algorithm{
	"":               limit.FixedWindow,
	"fixed_window":   limit.FixedWindow,
	"sliding_window": limit.SlidingWindow,
	"token_bucket":   limit.TokenBucket,
}

// A compiler makes a Set of parsed files.
type compiler struct {
	limitOf func(limit.Rule) (*limit.Limit, error)
	set     *Set
	names   map[string]place // of limits
	file    string           // the one that is added
	domain  string
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (c *compiler) errorf(line int, format string, args ...any) error {
	return &Error{c.file, line, fmt.Sprintf(format, args...)}
}

func (c *compiler) add(name string, d *file) error {
	c.file, c.domain = name, d.Domain
	if d.Domain == "" {
		return c.errorf(d.line, "the file has no domain: want domain: and a name")
	}
	root := c.set.domains[d.Domain]
	if root == nil { // not in another file
		root = newNode(place{name, d.line})
		c.set.domains[d.Domain] = root
	}
	return c.level(root, nil, d.Descriptors)
}

// level adds the descriptors below the one that the path leads to.
func (c *compiler) level(n *node, path []Entry, descriptors []descriptor) error {
	for i := range descriptors {
		d := &descriptors[i]
		if len(path) == mostLevels {
			return c.errorf(d.line, "descriptors in one another: must be at most %d", mostLevels)
		}
		e := Entry{d.Key, d.Value}
		if d.Key == "" {
			return c.errorf(d.line, "a descriptor has no key")
		}
		if d.Shared && !strings.HasSuffix(d.Value, "*") {
			return c.errorf(d.line, "share_threshold on a descriptor with value %q: want a value that ends in *, or no share_threshold", d.Value)
		}
		made := newNode(place{c.file, d.line})
		made.shared = d.Shared
		if before := n.put(e, made); before != nil {
			if before.at.file != c.file {
				return c.errorf(d.line, "a second descriptor with key %q and value %q in domain %q, as at %v: put both into one file, as one", d.Key, d.Value, c.domain, before.at)
			}
			return c.errorf(d.line, "a second descriptor with key %q and value %q, as in line %d", d.Key, d.Value, before.at.line)
		}
		below := append(slices.Clone(path), e)
		if (d.Shadow || d.Quota) && (d.Limit == nil || d.Limit.Unlimited) {
			return c.errorf(d.line, "shadow_mode or quota_mode on a descriptor that has no limit")
		}
		if d.Limit != nil {
			rule, err := c.rule(below, d)
			if err != nil {
				return err
			}
			made.rule = rule
			c.set.rules++
		}
		if err := c.level(made, below, d.Descriptors); err != nil {
			return err
		}
	}
	return nil
}

// put adds a descriptor, or returns the one that is there already.
func (n *node) put(e Entry, made *node) (before *node) {
	text, isPrefix := strings.CutSuffix(e.Value, "*")
	switch {
	case e.Value == "":
		if before = n.any[e.Key]; before == nil {
			n.any[e.Key] = made
		}
	case !isPrefix:
		if before = n.exact[e]; before == nil {
			n.exact[e] = made
		}
	default:
		all := n.prefixes[e.Key]
		at, found := slices.BinarySearchFunc(all, text, func(p prefix, text string) int {
			return cmp.Or(cmp.Compare(len(text), len(p.text)), strings.Compare(p.text, text))
		})
		if found {
			return all[at].node
		}
		n.prefixes[e.Key] = slices.Insert(all, at, prefix{text, made})
	}
	return before
}

func (c *compiler) rule(path []Entry, d *descriptor) (*Rule, error) {
	l := d.Limit
	r := &Rule{Name: l.Name, Unlimited: l.Unlimited}
	for _, other := range l.Replaces {
		switch other.Name {
		case "":
			return nil, c.errorf(l.line, "replaces: want the name of a rate_limit")
		case l.Name:
			return nil, c.errorf(l.line, "rate_limit %q replaces itself", l.Name)
		}
		r.Replaces = append(r.Replaces, other.Name)
	}
	if l.Unlimited {
		if rest := (rateLimit{line: l.line, Name: l.Name, Unlimited: true, Replaces: l.Replaces}); !reflect.DeepEqual(rest, *l) {
			return nil, c.errorf(l.line, "rate_limit is unlimited: want no other field than name and replaces")
		}
		return r, nil
	}
	rule, err := c.limitRule(path, d)
	if err != nil {
		return nil, err
	}
	if before, ok := c.names[rule.Name]; ok {
		return nil, c.errorf(l.line, "the limit's name, %s, is also that of the one at %v: rename a key", rule.Name, before)
	}
	c.names[rule.Name] = place{c.file, l.line}
	if l.Charge != nil {
		r.Charge = ChargeNone
		if *l.Charge {
			r.Charge = ChargeAll
		}
	}
	r.Unit, r.RequestsPerUnit = Unit(strings.ToLower(l.Unit)), uint32(*l.RequestsPerUnit)
	if r.Limit, err = c.limitOf(rule); err == nil && d.Quota && !r.Limit.Rule().Shadow {
		r.Quota, rule.Shadow = true, true
		r.Limit, err = c.limitOf(rule)
	}
	if err != nil {
		return nil, c.errorf(l.line, "%s", strings.TrimPrefix(err.Error(), "limit: "))
	}
	return r, nil
}

func (c *compiler) limitRule(path []Entry, d *descriptor) (limit.Rule, error) {
	l := d.Limit
	window, ok := windows[Unit(strings.ToLower(l.Unit))]
	if !ok {
		return limit.Rule{}, c.errorf(l.line, "unit = %q: want %s", l.Unit, unitNames)
	}
	if l.RequestsPerUnit == nil {
		return limit.Rule{}, c.errorf(l.line, "rate_limit has no requests_per_unit: want a number, or unlimited: true")
	}
	if n := *l.RequestsPerUnit; n < 0 || n > math.MaxUint32 {
		return limit.Rule{}, c.errorf(l.line, "requests_per_unit = %d: want a whole number, 0 to 4294967295", n)
	}
	algorithm, ok := algorithms[l.Algorithm]
	if !ok {
		return limit.Rule{}, c.errorf(l.line, "algorithm = %q: want fixed_window, sliding_window or token_bucket", l.Algorithm)
	}
	r := limit.Rule{
		Name: nameOf(c.domain, path), Quota: int64(*l.RequestsPerUnit), Window: window, Algorithm: algorithm,
		FailClosed: l.FailClosed, Shadow: d.Shadow,
	}
	if l.Burst != nil {
		if *l.Burst < 1 {
			return r, c.errorf(l.line, "burst = %d: must be at least 1", *l.Burst)
		}
		r.Burst = int64(*l.Burst)
	}
	if l.Warn != nil {
		r.Warn = *l.Warn
	}
	if l.Timezone == "" && l.StartsOn == nil {
		return r, nil
	}
	return r, c.calendar(l, &r)
}

// calendar gives the limit windows of the calendar in place of those of a fixed length.
func (c *compiler) calendar(l *rateLimit, r *limit.Rule) error {
	r.Window, r.Calendar = 0, limit.Calendar{Unit: units[Unit(strings.ToLower(l.Unit))], Zone: l.Timezone}
	switch {
	case r.Calendar.Unit == 0:
		return c.errorf(l.line, "unit = %q with timezone or starts_on: want day, week, month or year", l.Unit)
	case r.Algorithm != limit.FixedWindow:
		return c.errorf(l.line, "algorithm = %q with timezone or starts_on: want fixed_window", l.Algorithm)
	case l.StartsOn == nil:
	case *l.StartsOn < 1 || *l.StartsOn > 31:
		return c.errorf(l.line, "starts_on = %d: must be 1 to 31", *l.StartsOn)
	default:
		r.Calendar.StartsOn = int(*l.StartsOn)
	}
	return nil
}
