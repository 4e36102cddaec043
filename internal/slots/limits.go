package slots

// The limits of what a server may tell of its cluster.
const (
	// maxServers bounds the nodes of one range of slots. A cluster has at most 1,000 nodes by the advice
	// of the specification.
	maxServers = 1024

	// maxNodes bounds how many nodes ParseNodes reads: as many as there are slots for primaries.
	maxNodes = 16 << 10

	// maxFields bounds the fields of a node in CLUSTER SLOTS, which has four.
	maxFields = 128
)

// Sizes, in bytes.
const (
	// maxHostLength bounds the name of a host; the DNS has none that is longer.
	maxHostLength = 255

	// maxNodeLine is how much of a line of CLUSTER NODES is read. The fields that count come
	// first; slots may follow, thousands of them.
	maxNodeLine = 1024

	// maxPrinted is how much of a server's text goes to logs and errors: enough for an address
	// with an ID.
	maxPrinted = 100

	// maxShown is how much of a malformed reply goes to errors.
	maxShown = 12
)
