package engine

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Range is an inclusive range of whole numbers.
type Range struct{ Min, Max int }

// Pick returns a random number of the range.
func (r Range) Pick(rng *rand.Rand) int {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + rng.IntN(r.Max-r.Min+1)
}

// Pace spreads a response over time, on the provider's clock, and over writes.
type Pace struct {
	// FirstByte is the time between a request and the headers of its response.
	FirstByte time.Duration
	// Delta is the time before each delta of a stream; DeltaTokens is the number of tokens in a delta (zero means 4).
	Delta       time.Duration
	DeltaTokens int
	// Chunk is the size in bytes of a stream's writes, regardless of where events end. Zero writes event by event.
	Chunk int
}

// Rand returns a random source that depends on the seed and the purpose alone.
func Rand(seed uint64, purpose ...string) *rand.Rand {
	h := fnv.New64a()
	for _, p := range purpose {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Hex returns random bytes in hexadecimal.
func Hex(rng *rand.Rand, bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return hex.EncodeToString(b)
}

// UUID returns a random UUID.
func UUID(rng *rand.Rand) string {
	h := Hex(rng, 16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// Object is a JSON object to be encoded.
type Object = map[string]any

// JSON encodes a simulator's own value, which never fails.
func JSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("engine: encode %T: %v", v, err))
	}
	return data
}
