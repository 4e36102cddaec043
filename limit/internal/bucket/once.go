package bucket

import (
	"strconv"
	"time"
)

// MarkerTime is how long a marker is kept.
const MarkerTime = time.Minute

// Once returns a script that runs the text and replies with its local variable reply. With a
// marker in KEYS[2] it runs the text at most once in MarkerTime: the first run leaves the marker,
// and later ones reply with done. So the script can be sent again after an unknown outcome. Server,
// replicas and failovers treat both keys as one write. A text that fails leaves no marker.
func Once(text, done string) string {
	return `if KEYS[2] and redis.call("GET", KEYS[2]) then return ` + done + " end" + text +
		`if KEYS[2] then redis.call("SET", KEYS[2], "", "PX", ` + strconv.FormatInt(MarkerTime.Milliseconds(), 10) + `) end
return reply`
}
