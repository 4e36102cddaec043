package resp

// Args walks over the elements of an encoded command, the name first. The zero
// value has none. It holds places and not slices of what is left, so that the
// command need not be on the heap.
type Args struct {
	cmd            []byte
	begin, all     int // of the elements: where the first begins, how many there are
	next, returned int
}

// ArgsOf returns the elements of a command; none if cmd does not begin with one.
func ArgsOf(cmd []byte) Args {
	n, rest, ok := header(cmd, '*')
	if !ok {
		return Args{}
	}
	begin := len(cmd) - len(rest)
	return Args{cmd: cmd, begin: begin, all: n, next: begin}
}

// Len returns how many elements are left, as far as the header of the command
// can be believed.
func (a *Args) Len() int { return a.all - a.returned }

// Next returns the next element, which is part of the command; ok is false if
// there is none.
func (a *Args) Next() (arg []byte, ok bool) {
	if a.returned >= a.all {
		return nil, false
	}
	size, body, ok := header(a.cmd[a.next:], '$')
	if !ok || size > len(body)-2 {
		a.returned = a.all
		return nil, false
	}
	from := len(a.cmd) - len(body)
	a.next = from + size + 2
	a.returned++
	return a.cmd[from : from+size : from+size], true
}

// Skip leaves out n elements.
func (a *Args) Skip(n int) {
	for ; n > 0; n-- {
		if _, ok := a.Next(); !ok {
			return
		}
	}
}

// Seek makes the i-th element the next one, 0 being the name.
func (a *Args) Seek(i int) {
	if i < a.returned || a.returned >= a.all {
		a.next, a.returned = a.begin, 0
	}
	a.Skip(i - a.returned)
}
