package cause

import "strings"

// An Unreachable says that none of the addresses answered, or gave a map of
// the slots that can be used, and why.
type Unreachable struct {
	Causes []OfAddr
}

// An OfAddr is what went wrong with one address.
type OfAddr struct {
	Addr string
	Err  error
}

// Error lists each address with its cause; addresses with the same cause, such
// as a wrong password, share it.
func (e *Unreachable) Error() string {
	var texts []string
	addrs := make(map[string][]string)
	for _, c := range e.Causes {
		text := text(c.Err, c.Addr)
		if addrs[text] == nil {
			texts = append(texts, text)
		}
		addrs[text] = append(addrs[text], c.Addr)
	}
	for i, text := range texts {
		texts[i] = strings.Join(addrs[text], ", ") + ": " + text
	}
	return "redislanes: no node gives a map of the slots: " + strings.Join(texts, "; ")
}

// Unwrap returns the causes.
func (e *Unreachable) Unwrap() []error {
	errs := make([]error, len(e.Causes))
	for i, c := range e.Causes {
		errs[i] = c.Err
	}
	return errs
}
