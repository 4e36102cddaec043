module github.com/redislanes/redislanes/examples/fromenv

go 1.26.0

replace github.com/redislanes/redislanes => ../..

require (
	github.com/caarlos0/env/v11 v11.4.2
	github.com/redislanes/redislanes v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/mediocregopher/radix/v4 v4.1.4 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
