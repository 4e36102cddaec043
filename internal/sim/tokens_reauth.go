package sim

// reauthenticates makes the client authenticate in time.
func (s *Settings) reauthenticates() { s.Config.Dialer.ReauthEvery = reauths }
