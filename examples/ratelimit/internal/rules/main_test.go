package rules

import (
	"testing"

	"github.com/redislanes/redislanes/internal/leak"
	"github.com/redislanes/redislanes/limit"
)

func TestMain(m *testing.M) { leak.Main(m) }

// limitOf makes limits as a limiter with a client does.
func limitOf(r limit.Rule) (*limit.Limit, error) { return r.New(new(limit.Limiter)) }
