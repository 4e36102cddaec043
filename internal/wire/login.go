package wire

// auth is the greeting that authenticates a connection which does not begin with HELLO.
func (d dialer) auth() greeting {
	if d.Username == "" {
		return greeting{"AUTH", []string{d.Password}, must}
	}
	return greeting{"AUTH", []string{d.Username, d.Password}, must}
}
