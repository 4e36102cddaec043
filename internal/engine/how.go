package engine

// How says how a [Request] is sent. The zero value is the fast way: grouped by
// node, all groups at once.
type How struct {
	BySlot     bool // each group has the commands of one slot, and not those of a node
	Sequential bool // send a group only when the one before it has its replies
	Replicas   bool // to replicas, where there are any

	// Ended is told of commands that have ended while others have not, by their numbers, and
	// of none twice: of those of a node when it has replied, see [Request.Early]. Exec calls
	// it on its own goroutine. The commands that it was not told of have ended when Exec
	// returns.
	Ended func(commands []int)

	noFollow bool // MOVED and ASK stand
}
