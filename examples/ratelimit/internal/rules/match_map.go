package rules

import (
	"cmp"
	"slices"
)

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
