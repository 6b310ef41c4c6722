package rows

import (
	"math"
	"sync"
)

// A constant is a slice of one number, which calls share and nobody writes.
type constant struct {
	number float32
	mu     sync.Mutex
	made   []float32
}

var ones, negativeZeros = constant{number: 1}, constant{number: float32(math.Copysign(0, -1))}

// Ones returns n ones, which must not be written: a weight that changes nothing.
func Ones(n int) []float32 { return ones.of(n) }

// NegativeZeros returns n times -0, which must not be written: x + -0 is x, also for x = -0.
func NegativeZeros(n int) []float32 { return negativeZeros.of(n) }

func (c *constant) of(n int) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.made) < n {
		c.made = make([]float32, n)
		for i := range c.made {
			c.made[i] = c.number
		}
	}
	return c.made[:n:n]
}
