package rules

import "strconv"

// An Error is a mistake in a file.
type Error struct {
	File   string
	Line   int // 0 if it is about the whole file
	Reason string
}

// Error returns file, line and reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Reason
}
