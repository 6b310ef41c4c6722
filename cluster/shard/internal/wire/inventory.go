package wire

// Free asks a worker to forget sequences, and Held which blocks of one it holds.

// AppendNames writes a message that asks a worker to forget sequences.
func AppendNames(b []byte, names []string) []byte {
	b = appendU32(b, len(names))
	for _, s := range names {
		b = appendText(b, s)
	}
	return b
}

// ParseNames reads what [AppendNames] writes.
func ParseNames(data []byte) ([]string, error) {
	r := &reader{message: "free", data: data}
	var names []string
	for range r.count("names", 2) {
		s := r.name()
		if r.err != nil {
			break
		}
		names = append(names, s)
	}
	return names, r.end()
}
