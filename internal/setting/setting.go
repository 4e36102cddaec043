// Package setting checks the settings of all packages in the same way, so that their
// errors read alike: the field, its value, and what it may be.
package setting

import (
	"fmt"
	"time"
)

// Least is the smallest duration that a setting may have unless its own is larger. No
// timer and no network keeps a shorter one, and a smaller number is a duration without its
// unit, such as 100 for 100 ms.
const Least = time.Millisecond

// Duration returns an error that names the field unless its value is 0, which stands for
// the default, or from least to most. A most of 0 is no bound. The note says what else may
// be set, such as "or negative for never"; it may be empty.
func Duration(field string, value, least, most time.Duration, note string) error {
	switch {
	case value == 0 || value >= least && (most == 0 || value <= most):
		return nil
	case note != "":
		note = ", " + note
	}
	hint := ""
	if 0 < value && value < time.Microsecond && least >= Least {
		unit, name := time.Millisecond, "time.Millisecond"
		if least >= time.Second {
			unit, name = time.Second, "time.Second"
		}
		hint = fmt.Sprintf(" (a number without a unit counts nanoseconds: %d * %s is %v)", value, name, value*unit)
	}
	if most != 0 {
		return fmt.Errorf("%s = %v: must be %v to %v%s%s", field, value, least, most, note, hint)
	}
	return fmt.Errorf("%s = %v: must be at least %v%s%s", field, value, least, note, hint)
}

// DurationOrNone is [Duration] for a setting of which every negative value means none.
func DurationOrNone(field string, value, least, most time.Duration, none string) error {
	if value < 0 {
		return nil
	}
	return Duration(field, value, least, most, "or negative for "+none)
}
