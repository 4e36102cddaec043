package rules

import (
	"testing"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
)

func TestMain(m *testing.M) { leak.Main(m) }

// limitOf makes limits as a limiter with a client does.
var limitOf = new(limit.Limiter).Limit
