package rules

import (
	"cmp"
	"slices"
	"strings"
)

// An Entry is a key of a descriptor and its value.
type Entry struct{ Key, Value string }

// Match returns the rule for a descriptor and the key of its counter, or nil if there is no
// rule. Each entry must match a level of the domain. The rule of the last level applies. On each
// level an equal value wins, then the longest value that ends in *, then no value.
func (s *Set) Match(domain string, entries []Entry) (*Rule, string) {
	n := s.domains[domain]
	if n == nil || len(entries) == 0 {
		return nil, ""
	}
	var key []byte
	for _, e := range entries {
		next, pinned := n.find(e)
		if next == nil {
			return nil, ""
		}
		if !pinned {
			key = appendPart(key, e.Value)
		}
		n = next
	}
	if n.rule == nil {
		return nil, ""
	}
	return n.rule, finish(key)
}

// MatchMap returns the rule for a bucket id of the rate limit quota service, and the key that its
// hits are counted by; nil if there is none. It is that of [Set.Match] for the bucket id's entries
// in the order that the domain's levels need. If they match in several orders, the one counts
// in which the keys come first in the alphabet.
func (s *Set) MatchMap(domain string, id map[string]string) (*Rule, string) {
	n := s.domains[domain]
	if n == nil || len(id) == 0 {
		return nil, ""
	}
	entries := make([]Entry, 0, len(id))
	for key, value := range id {
		entries = append(entries, Entry{key, value})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	return s.Match(domain, n.path(entries, nil))
}

// path returns the path with the entries that are left, in an order that leads to a rule; nil
// if there is none. It takes no descriptor into account twice.
func (n *node) path(left, path []Entry) []Entry {
	if len(left) == 0 && n.rule != nil {
		return path
	}
	for i, e := range left {
		if next, _ := n.find(e); next != nil {
			if found := next.path(slices.Delete(slices.Clone(left), i, i+1), append(path, e)); found != nil {
				return found
			}
		}
	}
	return nil
}

// find returns the descriptor that matches, and whether the key need not have the value:
// the limit's name has it, or all values share a counter.
func (n *node) find(e Entry) (next *node, pinned bool) {
	if next = n.exact[e]; next != nil {
		return next, true
	}
	for _, p := range n.prefixes[e.Key] {
		if strings.HasPrefix(e.Value, p.text) {
			return p.node, p.node.shared
		}
	}
	return n.any[e.Key], false
}

// Has reports whether there is a domain of the name.
func (s *Set) Has(domain string) bool { return s.domains[domain] != nil }
