package train

// Memory is a slice of which parts are taken until the next Reset.
type Memory struct {
	all  []float32
	used int
}

// Reset takes back all parts.
func (m *Memory) Reset() { m.used = 0 }

// Zeros returns n zeros.
func (m *Memory) Zeros(n int) []float32 {
	x := m.Floats(n)
	clear(x)
	return x
}

// Floats returns n numbers of any values.
func (m *Memory) Floats(n int) []float32 {
	if m.used+n > len(m.all) {
		m.all, m.used = make([]float32, max(n, 2*len(m.all))), 0
	}
	x := m.all[m.used : m.used+n : m.used+n]
	m.used += n
	return x
}
