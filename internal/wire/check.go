package wire

import (
	"fmt"

	"github.com/redislanes/redislanes/internal/setting"
	"github.com/redislanes/redislanes/lanes"
)

// mostReply bounds Dialer.MaxReply.
const mostReply = 64 << 30

// CheckDialer returns an error that names the first field that cannot be used.
func CheckDialer(d lanes.Dialer) error {
	switch {
	case d.Protocol != 0 && d.Protocol != 2 && d.Protocol != 3:
		return fmt.Errorf("lanes: Dialer.Protocol = %d: must be 2 or 3", d.Protocol)
	case d.Database < 0:
		return fmt.Errorf("lanes: Dialer.Database = %d: must not be negative", d.Database)
	case d.Credentials != nil && d.Username+d.Password != "":
		return fmt.Errorf("lanes: Dialer.Credentials is set, and Username or Password is set too: leave one out")
	case d.Username != "" && d.Password == "":
		return fmt.Errorf("lanes: Dialer.Username = %q without a Password: set Password or Credentials (any text for a user with nopass)", d.Username)
	}
	if d.MaxReply < 0 || d.MaxReply > mostReply {
		return fmt.Errorf("lanes: Dialer.MaxReply = %d: must be from 0 to %d", d.MaxReply, int64(mostReply))
	}
	return setting.Duration("lanes: Dialer.Timeout", d.Timeout, setting.Least, 0, "")
}
