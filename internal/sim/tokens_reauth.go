package sim

// reauthenticates makes the client authenticate in time.
func (s *Settings) reauthenticates() { s.Tokens = 0 }
