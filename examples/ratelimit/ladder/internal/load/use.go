package load

import "time"

// A meter tells how many processors each part of a measurement has used between two moments.
type meter struct {
	read   func() map[string]time.Duration // nil: nothing is told
	began  time.Time
	before map[string]time.Duration
}

func (m *meter) start() {
	if m.read != nil {
		m.began, m.before = time.Now(), m.read()
	}
}

// cores leaves out parts that are not known at both moments.
func (m *meter) cores() map[string]float64 {
	if m.before == nil {
		return nil
	}
	all := make(map[string]float64)
	took := time.Since(m.began)
	for part, used := range m.read() {
		if before, known := m.before[part]; known && took > 0 {
			all[part] = (used - before).Seconds() / took.Seconds()
		}
	}
	return all
}
