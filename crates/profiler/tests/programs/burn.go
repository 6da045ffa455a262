// Uses a processor for so many seconds: 70 % in one function, 30 % in another.
package main

import (
	"os"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func work(n uint64) uint64 {
	hash := n
	for i := uint64(0); i < n; i++ {
		hash = hash*6364136223846793005 + 1
	}
	return hash
}

//go:noinline
func burn_seventy() { sink += work(70000) }

//go:noinline
func burn_thirty() { sink += work(30000) }

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for time.Now().Before(end) {
		burn_seventy()
		burn_thirty()
	}
}
