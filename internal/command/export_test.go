package command

// For the tests with servers, which cannot be in this package: redistest
// imports it.
var (
	KeysOfLines = commandKeys
	Encode      = encode
	KeysOf      = keysOf
	KeysBy      = keysBy
)
