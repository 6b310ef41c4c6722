package arch

// A Latent is multi-head latent attention (DeepSeek-AI 2024). A token has one latent for all heads,
// of which each has matrices to keys and values, and one further key, which rotates. Its Attention
// runs over what is kept of a token, as one head of keys: the latent, whose elements are its
// values, too, and the elements of the rotated key after it. Queries are multiplied by the matrix
// of keys in place of the latents of all tokens, and the values that attention returns by the
// matrix of values. Size is the size of a latent and the rotated key.
type Latent struct {
	Attention
	QueryRank int   // of the matrix of queries, with a norm between its two factors; 0 if it is one
	Rank      int   // elements of a latent
	Plain     int   // elements of a head of queries and keys that do not rotate; those that do follow them
	Values    int   // elements of a head of values
	Norm      *Norm // of latents, and between the factors of queries
}

func (*Latent) mixer() {}

// Turned is how many elements of a head rotate.
func (l *Latent) Turned() int { return l.Size - l.Rank }
