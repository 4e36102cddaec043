package rules

import "strings"

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
