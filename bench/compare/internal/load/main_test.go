package load

import (
	"fmt"
	"os"
	"testing"

	"github.com/redislanes/redislanes/internal/servers"
)

func TestMain(m *testing.M) {
	if IsNetwork() { // the tests' program is run again, as the command's is
		if err := ServeNetwork(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	servers.VerifyNoLeaks(m)
}
