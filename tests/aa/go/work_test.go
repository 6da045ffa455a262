package work

import (
	"os"
	"strconv"
	"testing"
)

var work, _ = strconv.Atoi(os.Getenv("WORK"))

func BenchmarkSum(b *testing.B) {
	numbers := make([]int, 10000)
	for n := 0; n < b.N; n++ {
		for i := 0; i < work*10; i++ {
			numbers[i*7%10000] += i
		}
	}
}

func BenchmarkMap(b *testing.B) {
	for n := 0; n < b.N; n++ {
		counts := map[int]int{}
		for i := 0; i < work; i++ {
			counts[i]++
		}
	}
}
