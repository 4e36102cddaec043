module github.com/redislanes/redislanes/examples/envoydriver

go 1.25.0

replace github.com/redislanes/redislanes => ../..

require (
	github.com/mediocregopher/radix/v4 v4.1.4
	github.com/redislanes/redislanes v0.0.0
	github.com/stretchr/testify v1.8.0
)

require (
	github.com/alicebob/gopher-json v0.0.0-20200520072559-a9ecdc9d1d3a // indirect
	github.com/alicebob/miniredis/v2 v2.31.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	github.com/yuin/gopher-lua v1.1.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
