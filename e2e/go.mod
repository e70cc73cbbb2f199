module shunt/e2e

go 1.26.0

require shunt v0.0.0

require (
	github.com/andybalholm/brotli v1.3.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
)

replace shunt => ../
