package rules

import "strings"

// An Entry is a key of a descriptor and its value.
type Entry struct{ Key, Value string }

// Match returns the rule for a descriptor, and the key that its hits are counted by;
// nil if there is none. Each entry has to match a level of the domain, and the rule
// is that of the last one. At each level a descriptor with the entry's value goes
// before one whose value ends in *, of which the longest wins, and that before one
// without a value.
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
