package lanes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimitsValidateNamesTheField(t *testing.T) {
	require.NoError(t, Limits{}.validate())
	for field, l := range map[string]Limits{
		"Bulk": {Bulk: -1}, "Elements": {Elements: -1}, "Line": {Line: -1}, "Reply": {Reply: -1}, "Depth": {Depth: -1},
	} {
		assert.EqualError(t, l.validate(), "Limits."+field+" = -1: must not be negative")
	}
	for field, l := range map[string]Limits{
		"Bulk = 68719476737: must be at most 68719476736":        {Bulk: 64<<30 + 1},
		"Elements = 1073741825: must be at most 1073741824":      {Elements: 1<<30 + 1},
		"Line = 9223372036854775807: must be at most 1073741824": {Line: math.MaxInt64},
		"Reply = 68719476737: must be at most 68719476736":       {Reply: 64<<30 + 1},
		"Depth = 4097: must be at most 4096":                     {Depth: 4097},
		"Attributes = 2000000000: must be at most 1073741824":    {Attributes: 2e9},
	} {
		assert.EqualError(t, l.validate(), "Limits."+field)
	}
}
