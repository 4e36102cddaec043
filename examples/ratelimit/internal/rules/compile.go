package rules

import (
	"cmp"
	"fmt"
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

func (c *compiler) add(d yamlDomain) error {
	c.file, c.domain = d.file, d.name
	if d.name == "" {
		return c.errorf(d.line, "the file has no domain: want domain: and a name")
	}
	root := c.set.domains[d.name]
	if root == nil { // not in another file
		root = &node{at: place{d.file, d.line}}
		c.set.domains[d.name] = root
	}
	return c.level(root, nil, d.descriptors)
}

// level adds the descriptors below the one that the path leads to.
func (c *compiler) level(n *node, path []Entry, descriptors []yamlDescriptor) error {
	for i := range descriptors {
		d := &descriptors[i]
		e := Entry{d.key, d.value}
		if d.key == "" {
			return c.errorf(d.line, "a descriptor has no key")
		}
		if d.shared && !strings.HasSuffix(d.value, "*") {
			return c.errorf(d.line, "share_threshold on a descriptor with value %q: want a value that ends in *, or no share_threshold", d.value)
		}
		made := &node{at: place{c.file, d.line}, shared: d.shared}
		if before := n.put(e, made); before != nil {
			if before.at.file != c.file {
				return c.errorf(d.line, "a second descriptor with key %q and value %q in domain %q, as at %v: put both into one file, as one", d.key, d.value, c.domain, before.at)
			}
			return c.errorf(d.line, "a second descriptor with key %q and value %q, as in line %d", d.key, d.value, before.at.line)
		}
		below := append(slices.Clone(path), e)
		if d.shadow && (d.limit == nil || d.limit.unlimited) {
			return c.errorf(d.line, "shadow_mode on a descriptor that has no limit")
		}
		if d.quota && (d.limit == nil || d.limit.unlimited) {
			return c.errorf(d.line, "quota_mode on a descriptor that has no limit")
		}
		if d.limit != nil {
			rule, err := c.rule(below, d)
			if err != nil {
				return err
			}
			made.rule = rule
			c.set.rules++
		}
		if err := c.level(made, below, d.descriptors); err != nil {
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
			n.any = with(n.any, e.Key, made)
		}
	case !isPrefix:
		if before = n.exact[e]; before == nil {
			n.exact = with(n.exact, e, made)
		}
	default:
		all := n.prefixes[e.Key]
		at, found := slices.BinarySearchFunc(all, text, func(p prefix, text string) int {
			return cmp.Or(cmp.Compare(len(text), len(p.text)), strings.Compare(p.text, text))
		})
		if found {
			return all[at].node
		}
		n.prefixes = with(n.prefixes, e.Key, slices.Insert(all, at, prefix{text, made}))
	}
	return before
}

func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	m[key] = value
	return m
}

func (c *compiler) rule(path []Entry, d *yamlDescriptor) (*Rule, error) {
	l := d.limit
	r := &Rule{Name: l.name, Replaces: l.replaces, Unlimited: l.unlimited}
	if l.name != "" && slices.Contains(l.replaces, l.name) {
		return nil, c.errorf(l.line, "rate_limit %q replaces itself", l.name)
	}
	if l.unlimited {
		if l.unit != "" || l.requestsPerUnit != nil || l.algorithm != "" || l.burst != nil || l.timezone != "" || l.startsOn != nil || l.warn != nil || l.failClosed || l.charge != nil {
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
	if l.charge != nil {
		r.Charge = ChargeNone
		if *l.charge {
			r.Charge = ChargeAll
		}
	}
	r.Unit, r.RequestsPerUnit = Unit(strings.ToLower(l.unit)), *l.requestsPerUnit
	if r.Limit, err = c.limitOf(rule); err == nil && d.quota && !r.Limit.Rule().Shadow {
		r.Quota, rule.Shadow = true, true
		r.Limit, err = c.limitOf(rule)
	}
	if err != nil {
		return nil, c.errorf(l.line, "%s", strings.TrimPrefix(err.Error(), "limit: "))
	}
	return r, nil
}

func (c *compiler) limitRule(path []Entry, d *yamlDescriptor) (limit.Rule, error) {
	l := d.limit
	window, ok := windows[Unit(strings.ToLower(l.unit))]
	if !ok {
		return limit.Rule{}, c.errorf(l.line, "unit = %q: want %s", l.unit, unitNames)
	}
	if l.requestsPerUnit == nil {
		return limit.Rule{}, c.errorf(l.line, "rate_limit has no requests_per_unit: want a number, or unlimited: true")
	}
	algorithm, ok := algorithms[l.algorithm]
	if !ok {
		return limit.Rule{}, c.errorf(l.line, "algorithm = %q: want fixed_window, sliding_window or token_bucket", l.algorithm)
	}
	r := limit.Rule{
		Name: nameOf(c.domain, path), Quota: int64(*l.requestsPerUnit), Window: window, Algorithm: algorithm,
		FailClosed: l.failClosed, Shadow: d.shadow,
	}
	if l.burst != nil {
		if *l.burst < 1 {
			return r, c.errorf(l.line, "burst = %d: must be at least 1", *l.burst)
		}
		r.Burst = *l.burst
	}
	if l.warn != nil {
		r.Warn = *l.warn
	}
	if l.timezone == "" && l.startsOn == nil {
		return r, nil
	}
	return r, c.calendar(l, &r)
}

// calendar gives the limit windows of the calendar in place of those of a fixed length.
func (c *compiler) calendar(l *yamlLimit, r *limit.Rule) error {
	r.Window, r.Calendar = 0, limit.Calendar{Unit: units[Unit(strings.ToLower(l.unit))], Zone: l.timezone}
	switch {
	case r.Calendar.Unit == 0:
		return c.errorf(l.line, "unit = %q with timezone or starts_on: want day, week, month or year", l.unit)
	case r.Algorithm != limit.FixedWindow:
		return c.errorf(l.line, "algorithm = %q with timezone or starts_on: want fixed_window", l.algorithm)
	case l.startsOn == nil:
	case *l.startsOn < 1 || *l.startsOn > 31:
		return c.errorf(l.line, "starts_on = %d: must be 1 to 31", *l.startsOn)
	default:
		r.Calendar.StartsOn = int(*l.startsOn)
	}
	return nil
}
