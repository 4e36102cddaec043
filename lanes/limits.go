package lanes

const (
	// firstFitDepth is how many batches FirstFit lets queue on a lane. With 1,000
	// callers 512 made up to 1.4 times the requests of 128 and as many with 100
	// (BenchmarkLanes).
	firstFitDepth = 512
)

// mostReply bounds Dialer.MaxReply.
const mostReply = 64 << 30
