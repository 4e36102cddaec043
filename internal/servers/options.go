package servers

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options are the settings of a cluster or server. The zero value is three
// primaries without replicas, password or TLS.
type Options struct {
	Primaries   int           // default 3; a server has one
	Replicas    int           // of each primary; default 0
	Slots       []int         // how many each primary has at first; default as many as the others
	Username    string        // an ACL user with all rights, besides the default one; needs a Password
	Password    string        // of the default user and of Username; default none
	TLS         bool          // the servers speak TLS only, with a certificate of [Cluster.TLSConfig]'s CA
	ClientCerts bool          // the servers demand a certificate of clients, such as [Cluster.TLSConfig]'s; needs TLS
	NodeTimeout time.Duration // cluster-node-timeout; default 1 s
	Directives  []string      // further lines of redis.conf
	Binary      string        // the server; default what [Binary] returns
}

func (o Options) withDefaults() Options {
	if o.Primaries == 0 {
		o.Primaries = 3
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = time.Second
	}
	if o.Slots == nil {
		for i := range max(0, o.Primaries) {
			o.Slots = append(o.Slots, (i+1)*slotCount/o.Primaries-i*slotCount/o.Primaries)
		}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Primaries < 1:
		return fmt.Errorf("servers: Options.Primaries = %d: must be positive", o.Primaries)
	case len(o.Slots) != o.Primaries || sum(o.Slots) != slotCount || slices.Min(o.Slots) < 0:
		return fmt.Errorf("servers: Options.Slots = %d: want a number for each of %d primaries, and %d together", o.Slots, o.Primaries, slotCount)
	case o.Replicas < 0:
		return fmt.Errorf("servers: Options.Replicas = %d: must not be negative", o.Replicas)
	case o.Username != "" && o.Password == "":
		return fmt.Errorf("servers: Options.Username = %q without a Password", o.Username)
	case o.ClientCerts && !o.TLS:
		return fmt.Errorf("servers: Options.ClientCerts without TLS")
	case strings.ContainsAny(o.Username+o.Password, " \t\r\n\"'#>"):
		return fmt.Errorf("servers: Options.Username or Password with a blank, quote, # or >, which redis.conf cannot hold")
	case o.NodeTimeout < 0:
		return fmt.Errorf("servers: Options.NodeTimeout = %v: must not be negative", o.NodeTimeout)
	}
	return nil
}

func sum(numbers []int) (all int) {
	for _, n := range numbers {
		all += n
	}
	return all
}
